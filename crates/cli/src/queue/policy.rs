//! `partita queue policy list|set|remove`: the stored access policies of a queue.

use crate::policy::{List, PolicyOf, PolicyOwner, Remove, Set};
use crate::prelude::*;
use crate::sas::QUEUE;
use partita_client::QueueClient;

commands! {
    pub(crate) enum PolicyCommand {
        List(OnQueues<PolicyOf<QueueArg, List>>),
        Set(OnQueues<PolicyOf<QueueArg, Set<QueueArg>>>),
        Remove(OnQueues<PolicyOf<QueueArg, Remove>>),
    }
}

// No doc comment, as it would become the description of the commands.
#[derive(clap::Args)]
pub(crate) struct QueueArg {
    /// Queue name
    queue: String,
}

impl PolicyOwner for QueueArg {
    type Connection = QueueConnection;
    type Client = QueueClient;
    const LETTERS: &'static [(char, &'static str)] = QUEUE;

    fn client(&self, connection: &QueueConnection) -> QueueClient {
        connection.service.queue_client(&self.queue)
    }
}
