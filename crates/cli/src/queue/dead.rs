//! `partita queue dead QUEUE`: the messages in a queue's poison queue, to be listed or put back.
//!
//! The poison queue of `jobs` is `jobs-poison`, as for Azure Functions: messages whose processing failed too often.

use super::forward::Forwarder;
use super::message_sink::ShowArgs;
use super::move_messages::move_all;
use super::poison::poison_queue;
use crate::prelude::*;
use clap::value_parser;
use partita_client::QueueClient;
use partita_model::limits::MESSAGES_MAX;

/// Show the messages of a queue's poison queue, or put them back into the queue
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  partita queue dead jobs\n  partita queue dead jobs --requeue\n\nThe poison queue of QUEUE is QUEUE-poison, as for Azure Functions. At most 32 messages can be shown, because others cannot be read without receiving them."
)]
pub(crate) struct DeadCommand {
    /// Queue name, without -poison
    queue: String,
    /// Name of the poison queue [default: QUEUE-poison]
    #[arg(long, value_name = "NAME")]
    poison_queue: Option<String>,
    /// Move the messages back into QUEUE, where their dequeue counts begin again
    #[arg(long)]
    requeue: bool,
    /// Maximum number of messages [default: 32, or all with --requeue]
    #[arg(long, short = 'n', value_name = "N", value_parser = value_parser!(u64).range(1..))]
    count: Option<u64>,
    #[command(flatten)]
    show: ShowArgs,
}

impl QueueAccountCommand for DeadCommand {
    async fn run(self, connection: QueueConnection, progress: Progress) -> CommandResult {
        let service = &connection.service;
        let name = self.poison_queue.clone();
        let poison = service.queue_client(&name.unwrap_or_else(|| poison_queue(&self.queue)));
        let waiting = match poison.get_properties().await {
            Ok(properties) => properties.message_count_max,
            Err(error) if error.is_not_found() => {
                message(&format!("there is no queue {}", poison.name()));
                return progress.finish("0 messages", Outcome::NothingFound);
            }
            Err(error) => return Err(error.into()),
        };
        if self.requeue {
            let to = service.queue_client(&self.queue);
            return move_all(Forwarder::new(poison, to), self.count, progress).await;
        }
        let shown = self.show(&poison).await?;
        if shown < waiting {
            let (shown, waiting) = (count(shown), many(waiting, "message", "messages"));
            message(&format!(
                "{shown} of {waiting} shown, as others are hidden or further behind"
            ));
        }
        progress.finish_count(shown, "message", "messages")
    }
}

impl DeadCommand {
    /// Shows the first visible messages; returns how many.
    async fn show(&self, poison: &QueueClient) -> Result<u64, CommandError> {
        let most = MESSAGES_MAX as u64;
        let count = self.count.unwrap_or(most).min(most);
        let messages = poison
            .peek_messages(u32::try_from(count).unwrap_or(1))
            .await?;
        let mut sink = self.show.sink();
        for message in &messages {
            sink.peeked(message)?;
        }
        let shown = sink.shown();
        sink.finish()?;
        Ok(shown)
    }
}
