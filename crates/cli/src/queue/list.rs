//! `partita queue list [PREFIX]`: the queues of an account.

use crate::prelude::*;
use futures::TryStreamExt as _;
use partita_client::{ListQueuesOptions, ListedQueue, Metadata};

/// List the queues
#[derive(clap::Args)]
#[command(after_help = "Example: partita queue list jobs- --count")]
pub(crate) struct ListCommand {
    /// Only queues whose names begin with this text
    prefix: Option<String>,
    /// Show the metadata of each queue
    #[arg(long)]
    metadata: bool,
    /// Show the number of messages of each queue, with the hidden ones: a request for each queue
    #[arg(long)]
    count: bool,
    #[command(flatten)]
    output: OutputArgs,
}

impl QueueAccountCommand for ListCommand {
    async fn run(self, connection: QueueConnection, progress: Progress) -> CommandResult {
        let mut output = Output::stdout(self.output, Shape::Rows, None);
        let mut queues = connection.service.list_queues(ListQueuesOptions {
            prefix: self.prefix.unwrap_or_default(),
            include_metadata: self.metadata,
            ..ListQueuesOptions::default()
        });
        let mut found = 0;
        while let Some(ListedQueue { name, metadata }) = queues.try_next().await? {
            let mut fields = vec![("name", Field::text(&name))];
            if self.count {
                let queue = connection.service.queue_client(&name);
                match queue.get_properties().await {
                    Ok(properties) => {
                        fields.push(("messages", Field::count(properties.message_count_max)));
                    }
                    // It was deleted since.
                    Err(error) if error.is_not_found() => continue,
                    Err(error) => return Err(error.into()),
                }
            }
            let metadata = self.metadata.then(|| metadata_text(&metadata));
            if let Some(text) = &metadata {
                fields.push(("metadata", Field::text(text)));
            }
            output.record(&fields)?;
            found += 1;
        }
        output.finish()?;
        progress.finish_count(found, "queue", "queues")
    }
}

/// Metadata as `name=value` pairs, as `partita queue create --metadata` reads them.
fn metadata_text(metadata: &Metadata) -> String {
    let pairs = metadata.iter();
    let pairs: Vec<String> = pairs
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    pairs.join(", ")
}
