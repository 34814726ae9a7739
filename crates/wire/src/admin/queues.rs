//! `/admin/v1/queues`: the fullest queues.

use super::present;
use serde::{Deserialize, Serialize};

/// The answer of `/admin/v1/queues`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Queues {
    /// The queues with the most messages, the fullest first.
    pub queues: Vec<QueueSummary>,
    /// The number of all queues.
    pub total: u64,
    /// The servers of the cluster that did not answer: their queues are missing. Absent if all did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silent: Option<Vec<String>>,
}

/// A queue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QueueSummary {
    /// The account.
    pub account: String,
    /// The queue.
    pub queue: String,
    /// The number of messages, also hidden ones, and expired ones that are not removed yet.
    pub messages: u64,
    /// The time since the put of the message that is next; `None` for an empty queue.
    #[serde(deserialize_with = "present")]
    pub next_message_age_seconds: Option<f64>,
}
