//! [`StepQueue`]: the queue of a job, whose messages are step ids.

use std::error::Error;
use std::future::Future;
use std::time::Duration;

/// Why a queue failed, after its own retries.
pub type QueueError = Box<dyn Error + Send + Sync>;

/// A received message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// The id of the step: the text of the message.
    pub step: String,
    /// The id of the message.
    pub id: String,
    /// The receipt with which the message can be renewed and deleted.
    pub receipt: String,
    /// How often the message was received, this time included; 0 if its sender has kept it.
    pub deliveries: u32,
}

/// The queue of one job. A worker must be correct if messages are lost, repeated, or of unknown steps; so
/// implementations may lose them. Every future may be dropped.
pub trait StepQueue: Clone + Send + Sync + 'static {
    /// Sends a message that never expires. Creates the queue if it does not exist.
    fn send(&self, step: &str) -> impl Future<Output = Result<(), QueueError>> + Send;

    /// Sends a message that never expires and is hidden for a time, as if its sender had received it. Creates the queue if
    /// it does not exist.
    fn keep(
        &self,
        step: &str,
        hidden_for: Duration,
    ) -> impl Future<Output = Result<Delivery, QueueError>> + Send;

    /// Receives a message and hides it for a time. Returns none if no message becomes visible within `wait`, or if the
    /// queue does not exist.
    fn receive(
        &self,
        hidden_for: Duration,
        wait: Duration,
    ) -> impl Future<Output = Result<Option<Delivery>, QueueError>> + Send;

    /// Hides a received message for a time from now on, zero to make it visible. Does nothing if another receiver has
    /// the message.
    fn hide(
        &self,
        delivery: &mut Delivery,
        hidden_for: Duration,
    ) -> impl Future<Output = Result<(), QueueError>> + Send;

    /// Deletes a received message. Does nothing if another receiver has the message.
    fn remove(&self, delivery: Delivery) -> impl Future<Output = Result<(), QueueError>> + Send;

    /// The number of messages, the hidden ones included; never fewer than there are. Zero if the queue does not exist.
    fn messages(&self) -> impl Future<Output = Result<u64, QueueError>> + Send;

    /// Deletes the queue, if it exists.
    fn delete(&self) -> impl Future<Output = Result<(), QueueError>> + Send;
}
