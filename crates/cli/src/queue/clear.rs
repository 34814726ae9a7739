//! `partita queue clear QUEUE`: deletes the messages and keeps the queue, with its metadata and access policies.

use super::failed;
use crate::prelude::*;

/// Delete all messages of a queue, also the hidden ones
#[derive(clap::Args)]
pub(crate) struct ClearCommand {
    /// Queue name
    queue: String,
    #[command(flatten)]
    confirm: ConfirmArgs,
}

impl QueueAccountCommand for ClearCommand {
    async fn run(self, connection: QueueConnection, mut progress: Progress) -> CommandResult {
        let name = &self.queue;
        let question = format!("delete all messages of queue {name}");
        self.confirm.confirm(&question, &mut progress)?;
        let queue = connection.service.queue_client(name);
        let cleared = queue.clear_messages().await;
        cleared.map_err(|error| failed(error, &queue))?;
        progress.finish(&format!("all messages of {name} deleted"), Outcome::Done)
    }
}
