//! `partita queue peek QUEUE`: the first visible messages, without receiving them.

use super::failed;
use super::message_sink::ShowArgs;
use crate::prelude::*;
use clap::value_parser;

/// Show the first visible messages of a queue, without receiving them
#[derive(clap::Args)]
#[command(after_help = "Example: partita queue peek jobs -n 5 --text")]
pub(crate) struct PeekCommand {
    /// Queue name
    queue: String,
    /// Maximum number of messages, 1 to 32
    #[arg(long, short = 'n', value_name = "N", value_parser = value_parser!(u32).range(1..=32), default_value_t = 1)]
    count: u32,
    #[command(flatten)]
    show: ShowArgs,
}

impl QueueAccountCommand for PeekCommand {
    async fn run(self, connection: QueueConnection, progress: Progress) -> CommandResult {
        let queue = connection.service.queue_client(&self.queue);
        let messages = queue.peek_messages(self.count).await;
        let messages = messages.map_err(|error| failed(error, &queue))?;
        let mut sink = self.show.sink();
        for message in &messages {
            sink.peeked(message)?;
        }
        sink.finish()?;
        progress.finish_count(messages.len() as u64, "message", "messages")
    }
}
