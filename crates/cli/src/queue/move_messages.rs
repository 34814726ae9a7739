//! `partita queue move FROM TO`: moves the visible messages of a queue to another queue of the account.

use super::forward::Forwarder;
use crate::prelude::*;
use crate::signals::{interruptible, stop_requested};
use clap::value_parser;

/// Move the visible messages of a queue to another queue
#[derive(clap::Args)]
#[command(
    after_help = "Example: partita queue move jobs archive --create-queue\n\nEach message is deleted in FROM after it was put into TO, so an interruption loses none. Messages keep their text and their expiry, and get new ids, insertion times and dequeue counts. Hidden messages are not moved."
)]
pub(crate) struct MoveCommand {
    /// Queue to take messages from
    from: String,
    /// Queue to put messages into
    to: String,
    /// Maximum number of messages [default: all]
    #[arg(long, short = 'n', value_name = "N", value_parser = value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Create TO if it does not exist
    #[arg(long)]
    create_queue: bool,
}

impl QueueAccountCommand for MoveCommand {
    async fn run(self, connection: QueueConnection, progress: Progress) -> CommandResult {
        let service = &connection.service;
        if self.from == self.to {
            return Err(CommandError::usage("FROM and TO are the same queue"));
        }
        if self.create_queue {
            service.create_queue_if_not_exists(&self.to).await?;
        }
        let (from, to) = (
            service.queue_client(&self.from),
            service.queue_client(&self.to),
        );
        move_all(Forwarder::new(from, to), self.count, progress).await
    }
}

/// Moves messages until none is visible, until `count`, or until a signal, and ends the command.
pub(super) async fn move_all(
    mut forwarder: Forwarder,
    count: Option<u64>,
    progress: Progress,
) -> CommandResult {
    // Without the second queue, messages would be received and hidden in vain.
    let target = forwarder.to.get_properties().await;
    target.map_err(|error| super::failed(error, &forwarder.to))?;
    progress.start_bar("messages", None, false);
    let mut stop = std::pin::pin!(stop_requested());
    let work = forwarder.forward_all(count.unwrap_or(u64::MAX), &progress);
    let ended = interruptible(&mut stop, work).await.and_then(|ended| ended);
    progress.bar.hide();
    let summary = forwarder.summary();
    if let Err(error) = ended {
        if forwarder.moved > 0 {
            message(&format!("{summary} before the error"));
        }
        return Err(error);
    }
    progress.finish(&summary, Outcome::of_count(forwarder.moved))
}
