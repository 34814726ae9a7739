//! `partita queue policy list|set|remove`: the stored access policies of a queue.

use crate::policy::{self, RemoveArgs, SetArgs, letters};
use crate::prelude::*;
use crate::sas::QUEUE;

commands! {
    pub(crate) enum PolicyCommand {
        List(OnQueues<ListCommand>), Set(OnQueues<SetCommand>), Remove(OnQueues<RemoveCommand>),
    }
}

/// List the stored access policies of a queue
#[derive(clap::Args)]
pub(crate) struct ListCommand {
    /// Queue name
    queue: String,
    #[command(flatten)]
    output: OutputArgs,
}

impl QueueAccountCommand for ListCommand {
    async fn run(self, connection: QueueConnection, progress: Progress) -> CommandResult {
        let queue = connection.service.queue_client(&self.queue);
        policy::list(&queue, self.output, progress).await
    }
}

/// Add or replace a stored access policy of a queue
#[derive(clap::Args)]
#[command(
    after_help = "A queue has at most five. A term that is missing here can be in the signature. In Azure a change takes up to 30s."
)]
pub(crate) struct SetCommand {
    /// Queue name
    queue: String,
    #[command(flatten)]
    set: SetArgs,
    /// Letters of r (read), a (add), u (update), p (process)
    #[arg(long, value_name = "LETTERS", value_parser = letters(QUEUE))]
    permissions: Option<String>,
}

impl QueueAccountCommand for SetCommand {
    async fn run(self, connection: QueueConnection, progress: Progress) -> CommandResult {
        let queue = connection.service.queue_client(&self.queue);
        let permissions = self.permissions.as_deref();
        self.set.run(&queue, permissions, progress).await
    }
}

/// Remove a stored access policy of a queue, which revokes its signatures
#[derive(clap::Args)]
pub(crate) struct RemoveCommand {
    /// Queue name
    queue: String,
    #[command(flatten)]
    remove: RemoveArgs,
}

impl QueueAccountCommand for RemoveCommand {
    async fn run(self, connection: QueueConnection, progress: Progress) -> CommandResult {
        let queue = connection.service.queue_client(&self.queue);
        self.remove.run(&queue, progress).await
    }
}
