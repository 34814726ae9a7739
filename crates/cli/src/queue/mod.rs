//! `partita queue list|create|delete|show|put|get|peek|clear|move|dead|policy`: queues of an account, and their messages.
//!
//! A message is deleted only after it was printed, or put into another queue. So a command that is interrupted loses no
//! message; others receive it again when its visibility timeout ends.

mod clear;
mod create;
mod dead;
mod delete;
mod forward;
mod get;
mod list;
mod message_sink;
mod move_messages;
mod new_message;
mod peek;
mod poison;
mod policy;
mod put;
mod show;

use crate::prelude::*;
use partita_client::{ErrorCode, QueueClient};

commands! {
    pub(crate) enum QueueCommand {
        List(OnQueues<list::ListCommand>), Create(OnQueues<create::CreateCommand>),
        Delete(OnQueues<delete::DeleteCommand>), Show(OnQueues<show::ShowCommand>),
        Put(OnQueues<put::PutCommand>), Get(OnQueues<get::GetCommand>), Peek(OnQueues<peek::PeekCommand>),
        Clear(OnQueues<clear::ClearCommand>), Move(OnQueues<move_messages::MoveCommand>),
        Dead(OnQueues<dead::DeadCommand>),
        /// Stored access policies, from which shared access signatures get their terms
        #[command(subcommand)]
        Policy(policy::PolicyCommand),
    }
}

/// The error of a request to a queue, with what to do about a missing one.
fn failed(error: partita_client::Error, queue: &QueueClient) -> CommandError {
    if error.code() != Some(ErrorCode::QueueNotFound) {
        return error.into();
    }
    let name = queue.name();
    CommandError::Because {
        what: format!("there is no queue {name}; `partita queue create {name}` creates it"),
        source: error.into(),
    }
}

/// Whether the message is gone, or its receipt is no longer valid because it was received again.
fn is_message_missing(error: &partita_client::Error) -> bool {
    error.code() == Some(ErrorCode::MessageNotFound)
}
