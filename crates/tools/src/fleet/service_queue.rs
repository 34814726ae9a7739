//! The queue of a job on the Queue service.

use super::queue::{Delivery, QueueError, StepQueue};
use partita_client::{Error, MessageExpiry, QueueClient, ReceiveOptions, SendOptions, SentMessage};
use std::time::{Duration, Instant};

/// A queue of an account.
#[derive(Debug, Clone)]
pub struct ServiceQueue(pub QueueClient);

impl ServiceQueue {
    async fn put(&self, step: &str, hidden_for: Duration) -> Result<SentMessage, Error> {
        let options = SendOptions {
            expiry: MessageExpiry::Never,
            visibility_timeout: hidden_for,
        };
        match self.0.send_message_with(step, options).await {
            Err(error) if error.is_not_found() => {
                self.0.create(&partita_client::Metadata::default()).await?;
                self.0.send_message_with(step, options).await
            }
            sent => sent,
        }
    }
}

impl StepQueue for ServiceQueue {
    async fn send(&self, step: &str) -> Result<(), QueueError> {
        self.put(step, Duration::ZERO).await?;
        Ok(())
    }

    async fn keep(&self, step: &str, hidden_for: Duration) -> Result<Delivery, QueueError> {
        let sent = self.put(step, hidden_for).await?;
        Ok(Delivery {
            step: step.to_owned(),
            id: sent.id,
            receipt: sent.receipt,
            deliveries: 0,
        })
    }

    async fn receive(
        &self,
        hidden_for: Duration,
        wait: Duration,
    ) -> Result<Option<Delivery>, QueueError> {
        let options = ReceiveOptions {
            visibility_timeout: hidden_for,
            wait,
            ..ReceiveOptions::default()
        };
        let begun = Instant::now();
        let received = match self.0.receive_messages(&options).await {
            Err(error) if error.is_not_found() => Vec::new(),
            received => received?,
        };
        let Some(message) = received.into_iter().next() else {
            // Only Partita waits for a message; other servers answer at once.
            tokio::time::sleep(wait.saturating_sub(begun.elapsed())).await;
            return Ok(None);
        };
        Ok(Some(Delivery {
            step: message.text,
            id: message.id,
            receipt: message.receipt,
            deliveries: message.dequeue_count,
        }))
    }

    async fn hide(&self, delivery: &mut Delivery, hidden_for: Duration) -> Result<(), QueueError> {
        let (id, receipt) = (&delivery.id, &delivery.receipt);
        let hidden = self.0.update_message(id, receipt, hidden_for, None).await;
        if let Some(updated) = unless_missing(hidden)? {
            delivery.receipt = updated.receipt;
        }
        Ok(())
    }

    async fn remove(&self, delivery: Delivery) -> Result<(), QueueError> {
        let deleted = self.0.delete_message(&delivery.id, &delivery.receipt).await;
        unless_missing(deleted)?;
        Ok(())
    }

    async fn messages(&self) -> Result<u64, QueueError> {
        let properties = unless_missing(self.0.get_properties().await)?;
        Ok(properties.map_or(0, |properties| properties.message_count_max))
    }

    async fn delete(&self) -> Result<(), QueueError> {
        unless_missing(self.0.delete().await)?;
        Ok(())
    }
}

/// The result of a request; `None` if the queue or the message does not exist, or if another receiver has the message.
fn unless_missing<T>(result: Result<T, Error>) -> Result<Option<T>, Error> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.is_not_found() || error.code_text() == "PopReceiptMismatch" => Ok(None),
        Err(error) => Err(error),
    }
}
