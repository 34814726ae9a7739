//! The output of messages: rows with the names of the protocol, or only their texts.

use crate::prelude::*;
use partita_client::{DateTime, PeekedMessage, ReceivedMessage, SentMessage, ValueRef};
use std::io::{self, Write as _};

/// How messages are shown.
#[derive(clap::Args)]
pub(super) struct ShowArgs {
    /// Show only the texts, a line for each message
    #[arg(long, conflicts_with = "output")]
    text: bool,
    #[command(flatten)]
    output: OutputArgs,
}

impl ShowArgs {
    pub(super) fn sink(&self) -> MessageSink {
        let form = if self.text {
            SinkForm::Texts
        } else {
            SinkForm::Rows(Box::new(Output::stdout(self.output, Shape::Rows, None)))
        };
        MessageSink { form, shown: 0 }
    }
}

/// Writes messages to stdout.
pub(super) struct MessageSink {
    form: SinkForm,
    shown: u64,
}

enum SinkForm {
    Rows(Box<Output>),
    Texts,
}

impl MessageSink {
    /// The number of messages so far.
    pub(super) fn shown(&self) -> u64 {
        self.shown
    }

    pub(super) fn received(&mut self, message: &ReceivedMessage) -> Result<(), CommandError> {
        self.write(&message.text, &received_fields(message))
    }

    pub(super) fn peeked(&mut self, message: &PeekedMessage) -> Result<(), CommandError> {
        self.write(&message.text, &peeked_fields(message))
    }

    fn write(&mut self, text: &str, fields: &[(&str, Field<'_>)]) -> Result<(), CommandError> {
        self.shown += 1;
        match &mut self.form {
            SinkForm::Rows(output) => output.record(fields),
            SinkForm::Texts => {
                let written = io::stdout().write_all(format!("{text}\n").as_bytes());
                written.map_err(CommandError::Output)
            }
        }
    }

    /// Writes all messages so far. Only then may they be deleted.
    pub(super) fn flush(&mut self) -> Result<(), CommandError> {
        match &mut self.form {
            SinkForm::Rows(output) => output.flush(),
            SinkForm::Texts => io::stdout().flush().map_err(CommandError::Output),
        }
    }

    /// Writes the end of the output.
    pub(super) fn finish(self) -> Result<(), CommandError> {
        match self.form {
            SinkForm::Rows(output) => output.finish(),
            SinkForm::Texts => io::stdout().flush().map_err(CommandError::Output),
        }
    }

    /// Like [`Self::finish`], after an error.
    pub(super) fn finish_after(self, error: &CommandError) -> Result<(), CommandError> {
        match error {
            CommandError::Output(_) => Ok(()),
            _ => self.finish(),
        }
    }
}

fn time(time: DateTime) -> Field<'static> {
    Field::Plain(ValueRef::DateTime(time))
}

/// The fields of a message that was put.
pub(super) fn sent_fields(message: &SentMessage) -> [(&'static str, Field<'_>); 5] {
    [
        ("MessageId", Field::text(&message.id)),
        ("InsertionTime", time(message.inserted)),
        ("ExpirationTime", time(message.expires)),
        ("PopReceipt", Field::text(&message.receipt)),
        ("TimeNextVisible", time(message.next_visible)),
    ]
}

fn received_fields(message: &ReceivedMessage) -> [(&'static str, Field<'_>); 7] {
    [
        ("MessageId", Field::text(&message.id)),
        ("InsertionTime", time(message.inserted)),
        ("ExpirationTime", time(message.expires)),
        ("PopReceipt", Field::text(&message.receipt)),
        ("TimeNextVisible", time(message.next_visible)),
        ("DequeueCount", Field::count(message.dequeue_count.into())),
        ("MessageText", Field::text(&message.text)),
    ]
}

fn peeked_fields(message: &PeekedMessage) -> [(&'static str, Field<'_>); 5] {
    [
        ("MessageId", Field::text(&message.id)),
        ("InsertionTime", time(message.inserted)),
        ("ExpirationTime", time(message.expires)),
        ("DequeueCount", Field::count(message.dequeue_count.into())),
        ("MessageText", Field::text(&message.text)),
    ]
}
