//! `partita queue put QUEUE TEXT`: one message from the command line, or any number from stdin.

use super::failed;
use super::message_sink::sent_fields;
use super::new_message::{LineForm, NewMessage, TimeArgs};
use crate::lines::{Line, lines};
use crate::prelude::*;
use crate::signals::{interruptible, stop_requested};
use clap::value_parser;
use futures::{StreamExt as _, TryStreamExt as _};
use partita_client::QueueClient;

/// Put messages into a queue
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  partita queue put jobs 'paint the bridge' --visibility 10m\n  printf 'one\\ntwo\\n' | partita queue put jobs -\n  echo '{\"text\":\"paint\",\"ttl\":\"1h\",\"visibility\":30}' | partita queue put jobs - --json\n\nTexts are stored as they are; Azure Functions expects Base64. A message can be put twice if an answer is lost."
)]
pub(crate) struct PutCommand {
    /// Queue name
    queue: String,
    /// Text of the message, or - for messages on stdin, one on each line
    #[arg(allow_hyphen_values = true)]
    text: String,
    /// Read each line of stdin as a JSON object with text and, if wanted, ttl and visibility
    #[arg(long)]
    json: bool,
    /// Create the queue if it does not exist
    #[arg(long)]
    create_queue: bool,
    /// Parallel requests for lines of stdin, 1 to 256; with more than one, messages change their order
    #[arg(long, short, value_name = "N", value_parser = value_parser!(u16).range(1..=256), default_value_t = 1)]
    jobs: u16,
    #[command(flatten)]
    times: TimeArgs,
    #[command(flatten)]
    output: OutputArgs,
}

impl QueueAccountCommand for PutCommand {
    async fn run(self, connection: QueueConnection, progress: Progress) -> CommandResult {
        let is_stdin = self.text == "-";
        if self.json && !is_stdin {
            return Err(CommandError::usage("--json needs - for messages on stdin"));
        }
        let queue = connection.service.queue_client(&self.queue);
        if self.create_queue {
            let name = queue.name();
            connection.service.create_queue_if_not_exists(name).await?;
        }
        let shape = if is_stdin { Shape::Rows } else { Shape::Single };
        let mut putter = Putter {
            queue,
            jobs: self.jobs.into(),
            output: Output::stdout(self.output, shape, None),
            put: 0,
        };
        let options = self.times.options();
        let ended = if is_stdin {
            progress.start_bar("messages", None, true);
            let json = self.json;
            putter
                .put_stdin(LineForm { json, options }, &progress)
                .await
        } else {
            let text = self.text;
            putter.put_all(vec![NewMessage { text, options }]).await
        };
        let put = putter.put;
        let end = format!("{} put", many(put, "message", "messages"));
        progress.bar.hide();
        if let Err(error) = ended {
            putter.output.finish_after(&error)?;
            if put > 0 {
                message(&format!("{end} before the error"));
            }
            return Err(error);
        }
        putter.output.finish()?;
        progress.finish(&end, Outcome::of_count(put))
    }
}

struct Putter {
    queue: QueueClient,
    /// Parallel requests.
    jobs: usize,
    output: Output,
    put: u64,
}

impl Putter {
    /// Puts the lines of stdin as they arrive, until it ends or until a signal. A signal does not abort requests.
    async fn put_stdin(&mut self, form: LineForm, progress: &Progress) -> Result<(), CommandError> {
        let mut lines = lines(std::io::stdin())?;
        let mut stop = std::pin::pin!(stop_requested());
        while let Some(taken) = interruptible(&mut stop, lines.recv()).await? {
            self.put_lines(&taken?, form).await?;
            progress.bar.set_position(self.put);
        }
        Ok(())
    }

    /// Puts lines, up to the first invalid one.
    async fn put_lines(&mut self, lines: &[Line], form: LineForm) -> Result<(), CommandError> {
        let mut messages = Vec::with_capacity(lines.len());
        let mut invalid = None;
        for line in lines {
            match form.message(line) {
                Ok(message) => messages.push(message),
                Err(error) => {
                    invalid = Some(error);
                    break;
                }
            }
        }
        self.put_all(messages).await?;
        invalid.map_or(Ok(()), Err)
    }

    async fn put_all(&mut self, messages: Vec<NewMessage>) -> Result<(), CommandError> {
        let queue = &self.queue;
        let requests = futures::stream::iter(messages).map(|message| async move {
            let NewMessage { text, options } = message;
            queue.send_message_with(&text, options).await
        });
        let mut answers = requests.buffered(self.jobs);
        while let Some(sent) = answers
            .try_next()
            .await
            .map_err(|error| failed(error, queue))?
        {
            self.output.record(&sent_fields(&sent))?;
            self.put += 1;
        }
        self.output.flush()
    }
}
