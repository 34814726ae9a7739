//! The poison rule: a message that was received too often goes to another queue, so that it does not block its own.

use super::forward::Forwarder;
use crate::prelude::*;
use clap::value_parser;
use partita_client::{QueueClient, ReceivedMessage};

/// The name of the poison queue of a queue, as for Azure Functions.
pub(super) fn poison_queue(queue: &str) -> String {
    format!("{queue}-poison")
}

/// The flags of the rule.
#[derive(clap::Args)]
pub(super) struct PoisonArgs {
    /// Move messages that were received more than N times to another queue, instead of showing them
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..))]
    max_dequeue: Option<u32>,
    /// Queue for these messages; it is created if it does not exist [default: QUEUE-poison]
    #[arg(long, value_name = "QUEUE", requires = "max_dequeue")]
    to: Option<String>,
}

/// The rule, and the messages that it has moved.
pub(super) struct PoisonRule {
    max_dequeue: u32,
    forwarder: Forwarder,
    /// Whether the other queue exists.
    is_created: bool,
}

impl PoisonArgs {
    /// The rule for a queue; `None` without the flags.
    pub(super) fn rule(
        &self,
        queue: &QueueClient,
        connection: &QueueConnection,
    ) -> Result<Option<PoisonRule>, CommandError> {
        let Some(max_dequeue) = self.max_dequeue else {
            return Ok(None);
        };
        let to = self.to.clone();
        let to = to.unwrap_or_else(|| poison_queue(queue.name()));
        if to == queue.name() {
            return Err(CommandError::usage("QUEUE and --to are the same queue"));
        }
        let to = connection.service.queue_client(&to);
        Ok(Some(PoisonRule {
            max_dequeue,
            forwarder: Forwarder::new(queue.clone(), to),
            is_created: false,
        }))
    }
}

impl PoisonRule {
    /// Moves the messages that were received too often; returns the others.
    pub(super) async fn apply(
        &mut self,
        messages: Vec<ReceivedMessage>,
    ) -> Result<Vec<ReceivedMessage>, CommandError> {
        let is_poison = |message: &ReceivedMessage| message.dequeue_count > self.max_dequeue;
        let (poison, others): (Vec<_>, Vec<_>) = messages.into_iter().partition(is_poison);
        if !poison.is_empty() && !self.is_created {
            create(&self.forwarder.to).await?;
            self.is_created = true;
        }
        for message in &poison {
            self.forwarder.forward(message).await?;
        }
        Ok(others)
    }

    /// `, 2 moved to jobs-poison`; empty if no message was moved.
    pub(super) fn summary(&self) -> String {
        match self.forwarder.moved {
            0 => String::new(),
            moved => format!(", {} moved to {}", count(moved), self.forwarder.to.name()),
        }
    }

    /// The number of moved messages.
    pub(super) fn moved(&self) -> u64 {
        self.forwarder.moved
    }
}

/// Creates the queue unless it exists, with any metadata.
async fn create(queue: &QueueClient) -> Result<(), CommandError> {
    match queue.create(&partita_client::Metadata::default()).await {
        Ok(_) => Ok(()),
        Err(error) if error.is_conflict() => Ok(()),
        Err(error) => Err(error.into()),
    }
}
