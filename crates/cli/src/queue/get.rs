//! `partita queue get QUEUE`: receives messages, and with `--follow` waits for more.

use super::message_sink::{MessageSink, ShowArgs};
use super::new_message::parse_visibility;
use super::poison::{PoisonArgs, PoisonRule};
use super::{failed, is_message_missing};
use crate::prelude::*;
use crate::signals::stop_requested;
use clap::value_parser;
use futures::{StreamExt as _, TryStreamExt as _};
use partita_client::{MessagePoll, QueueClient, ReceiveOptions, ReceivedMessage};
use partita_model::limits::MESSAGES_MAX;
use std::time::Duration;

/// How long one request of `--follow` waits at a server that can wait: its maximum.
const WAIT: Duration = Duration::from_secs(20);
/// Parallel requests that delete messages.
const DELETES: usize = 8;

/// Receive messages of a queue
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  partita queue get jobs -n 32 --delete --text\n  partita queue get jobs --follow --delete --max-dequeue 5 > jobs.jsonl\n\nReceived messages are hidden for --visibility, then others receive them again, unless --delete acknowledged them after they were written. --follow waits at the server (Partita), or polls it with pauses of up to 1 s. A signal ends it successfully."
)]
pub(crate) struct GetCommand {
    /// Queue name
    queue: String,
    /// Maximum number of messages [default: 1, or no limit with --follow]
    #[arg(long, short = 'n', value_name = "N", value_parser = value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// How long the messages are hidden from other clients, 1s to 7d
    #[arg(long, value_name = "TIME", value_parser = parse_lease, default_value = "30s")]
    visibility: Duration,
    /// Delete the messages after they were written to stdout
    #[arg(long)]
    delete: bool,
    /// Continue with messages as they arrive, until Ctrl-C
    #[arg(long, short)]
    follow: bool,
    #[command(flatten)]
    poison: PoisonArgs,
    #[command(flatten)]
    show: ShowArgs,
}

impl QueueAccountCommand for GetCommand {
    async fn run(self, connection: QueueConnection, progress: Progress) -> CommandResult {
        let queue = connection.service.queue_client(&self.queue);
        let options = ReceiveOptions {
            visibility_timeout: self.visibility,
            wait: if self.follow { WAIT } else { Duration::ZERO },
            ..ReceiveOptions::default()
        };
        let mut receiver = Receiver {
            poison: self.poison.rule(&queue, &connection)?,
            sink: self.show.sink(),
            deletes: self.delete,
            options,
            queue,
        };
        let ended = if self.follow {
            receiver.follow(self.count.unwrap_or(u64::MAX)).await
        } else {
            receiver.receive(self.count.unwrap_or(1)).await
        };
        receiver.finish(ended, progress)
    }
}

struct Receiver {
    queue: QueueClient,
    options: ReceiveOptions,
    sink: MessageSink,
    poison: Option<PoisonRule>,
    /// Whether messages are deleted after they were shown.
    deletes: bool,
}

impl Receiver {
    /// Receives messages until none is visible, or `count` were shown.
    async fn receive(&mut self, count: u64) -> Result<(), CommandError> {
        while let Some(left) = self.left(count) {
            let options = ReceiveOptions {
                count: left,
                ..self.options
            };
            let messages = self.queue.receive_messages(&options).await;
            let messages = messages.map_err(|error| failed(error, &self.queue))?;
            if messages.is_empty() {
                break;
            }
            self.process(messages).await?;
        }
        Ok(())
    }

    /// Receives messages as they arrive, until `count` were shown, or until a signal, which is a normal end. A signal
    /// does not interrupt the processing of messages.
    async fn follow(&mut self, count: u64) -> Result<(), CommandError> {
        let mut stop = std::pin::pin!(stop_requested());
        let mut poll: MessagePoll = self.queue.poll_messages(self.options);
        while let Some(left) = self.left(count) {
            let messages = tokio::select! {
                biased;
                () = &mut stop => break,
                messages = poll.next_up_to(left) => messages,
            };
            let messages = messages.map_err(|error| failed(error, &self.queue))?;
            self.process(messages).await?;
        }
        Ok(())
    }

    /// The number of messages for the next request; `None` if `count` were shown.
    fn left(&self, count: u64) -> Option<u32> {
        let left = count
            .saturating_sub(self.sink.shown())
            .min(MESSAGES_MAX as u64);
        u32::try_from(left).ok().filter(|left| *left > 0)
    }

    /// Shows messages, and deletes them afterwards.
    async fn process(&mut self, messages: Vec<ReceivedMessage>) -> Result<(), CommandError> {
        let messages = match &mut self.poison {
            Some(rule) => rule.apply(messages).await?,
            None => messages,
        };
        for message in &messages {
            self.sink.received(message)?;
        }
        self.sink.flush()?;
        if !self.deletes {
            return Ok(());
        }
        let queue = &self.queue;
        let deletes = futures::stream::iter(messages).map(|message| delete(queue, message));
        deletes.buffer_unordered(DELETES).try_collect().await
    }

    fn finish(self, ended: Result<(), CommandError>, progress: Progress) -> CommandResult {
        let shown = self.sink.shown();
        let moved = self.poison.as_ref();
        let summary = moved.map(PoisonRule::summary).unwrap_or_default();
        let found = shown + moved.map_or(0, PoisonRule::moved);
        if let Err(error) = ended {
            self.sink.finish_after(&error)?;
            return Err(error);
        }
        self.sink.finish()?;
        let messages = many(shown, "message", "messages");
        progress.finish(&format!("{messages}{summary}"), Outcome::of_count(found))
    }
}

/// Reads the visibility timeout of received messages.
fn parse_lease(text: &str) -> Result<Duration, String> {
    match parse_visibility(text)? {
        Duration::ZERO => Err("the shortest visibility timeout is 1s".to_owned()),
        timeout => Ok(timeout),
    }
}

/// Deletes a message that was shown.
async fn delete(queue: &QueueClient, shown: ReceivedMessage) -> Result<(), CommandError> {
    let ReceivedMessage { id, receipt, .. } = &shown;
    match queue.delete_message(id, receipt).await {
        Ok(()) => Ok(()),
        Err(error) if is_message_missing(&error) => {
            message(&format!(
                "message {id} was not deleted: another client received it before; try a longer --visibility"
            ));
            Ok(())
        }
        Err(error) => Err(failed(error, queue)),
    }
}
