//! Decodes a key for operators, into the names of account and queue.

use crate::{Error, Service};
use partita_model::{KeyKind, KeyReader, QueueId};
use std::collections::HashMap;

/// The maximum number of queue names to read; further queues are shown by their ids.
const QUEUES_MAX: usize = 10_000;

/// The names that a key of a queue contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueLocation {
    /// The account.
    pub account: String,
    /// The queue's name; `None` for a deleted queue, and for queues above the limit of 10,000.
    pub queue: Option<String>,
    /// The queue's id.
    pub queue_id: QueueId,
}

/// The names of queues by account and id, at the time they were read.
#[derive(Debug, Default)]
pub struct QueueNames(HashMap<(String, QueueId), String>);

impl QueueNames {
    /// Decodes a key of a queue's rows, or the queue's prefix; `None` for other keys.
    #[must_use]
    pub fn location(&self, key: &[u8]) -> Option<QueueLocation> {
        let mut fields = KeyReader::of_kind(key, KeyKind::MESSAGE).ok()?;
        let account = fields.text().ok()?.into_owned();
        let queue_id = QueueId(fields.id().ok()?);
        let queue = self.0.get(&(account.clone(), queue_id)).cloned();
        Some(QueueLocation {
            account,
            queue,
            queue_id,
        })
    }
}

impl Service {
    /// The names of the queues of all accounts, at most 10,000.
    ///
    /// # Errors
    /// [`Error::Busy`], [`Error::Corrupt`].
    pub async fn queue_names(&self) -> Result<QueueNames, Error> {
        let mut names = QueueNames::default();
        self.each_queue(|queue| {
            names.0.insert((queue.account, queue.id), queue.name);
            names.0.len() < QUEUES_MAX
        })
        .await?;
        Ok(names)
    }
}
