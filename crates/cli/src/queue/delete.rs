//! `partita queue delete QUEUE…`: one queue after the other; a missing queue is reported and skipped.

use crate::prelude::*;

/// Delete queues with all their messages
#[derive(clap::Args)]
pub(crate) struct DeleteCommand {
    /// Queue names
    #[arg(value_name = "QUEUE", required = true, num_args = 1..)]
    queue: Vec<String>,
    #[command(flatten)]
    confirm: ConfirmArgs,
}

impl QueueAccountCommand for DeleteCommand {
    async fn run(self, connection: QueueConnection, mut progress: Progress) -> CommandResult {
        let names: Vec<&str> = self.queue.iter().map(|name| name.trim()).collect();
        let queues = if names.len() == 1 { "queue" } else { "queues" };
        let question = format!("delete {queues} {} with all messages", names.join(", "));
        self.confirm.confirm(&question, &mut progress)?;
        let mut deleted = 0;
        for name in &names {
            match connection.service.delete_queue(name).await {
                Ok(()) => deleted += 1,
                Err(error) if error.is_not_found() => {
                    message(&format!("there is no queue {name}"));
                }
                Err(error) => return Err(error.into()),
            }
        }
        let end = format!("{} deleted", many(deleted, "queue", "queues"));
        progress.finish(&end, Outcome::of_count(deleted))
    }
}
