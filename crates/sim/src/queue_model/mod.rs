//! The model of a queue, which all its sessions share and which every answer is compared with.
//!
//! Requests overlap, so the model has for each message what must be, what must not be, and what may be. A request is
//! executed at some time between its sending and its answer. A request whose answer is lost may be executed until some
//! time after the loss, or never. An answer may arrive after those of requests that were executed later.

mod change;
mod clear;
mod message;
mod receive;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::time::Duration;

pub(crate) use self::change::Update;
pub(crate) use self::message::Time;
use self::message::{Existence, Known};
pub(crate) use self::receive::{Found, Receive};

/// The first wrong answer, as a text.
pub(crate) type Check<T = ()> = Result<T, String>;

/// The name of a message, with which each of its texts begins: its producer, and its number among the messages of the
/// producer.
pub(crate) type Label = (u64, u64);

/// A put.
#[derive(Clone, Debug)]
pub(crate) struct Put {
    pub(crate) label: Label,
    pub(crate) text: String,
    pub(crate) visibility_timeout: Duration,
    pub(crate) time_to_live: Option<Duration>,
}

/// A queue.
#[derive(Debug)]
pub(crate) struct QueueModel {
    /// The time after the loss of an answer within which its request is executed, if ever.
    late: Duration,
    messages: BTreeMap<Label, Known>,
    /// Receives that wait for their answers.
    receives_running: u64,
    /// All receives so far.
    receives_begun: u64,
    /// When the answer of a receive was last lost.
    receive_lost: Option<Time>,
    /// Until then, receives whose answers were lost may hide any message.
    hidden_until: Time,
    /// Clears that wait for their answers.
    clears_running: u64,
    /// Until then, a clear may have been executed: the last answer, or a later time if an answer was lost.
    cleared_until: Time,
}

impl QueueModel {
    /// An empty queue. A request whose answer is lost is executed within `late` after that, or never.
    pub(crate) fn new(late: Duration) -> Self {
        Self {
            late,
            messages: BTreeMap::new(),
            receives_running: 0,
            receives_begun: 0,
            receive_lost: None,
            hidden_until: Time::ZERO,
            clears_running: 0,
            cleared_until: Time::ZERO,
        }
    }

    pub(crate) fn put_sent(&mut self, put: &Put, now: Time) {
        let hidden = now + put.visibility_timeout;
        let known = Known {
            texts: vec![put.text.clone()],
            time_to_live: put.time_to_live,
            sent: now,
            stored: None,
            existence: Existence::Maybe,
            id: None,
            dequeue_count: 0,
            received: None,
            receipt: None,
            hidden_min: hidden,
            hidden_max: hidden,
            is_moved: !put.visibility_timeout.is_zero(),
            changed: now,
            named: now,
            is_busy: false,
        };
        self.messages.insert(put.label, known);
    }

    /// Takes the answer of a put: the id and the receipt.
    pub(crate) fn put_done(&mut self, put: &Put, id: String, receipt: &str, now: Time) {
        let Some(known) = self.messages.get_mut(&put.label) else {
            return;
        };
        // Another session may have received the message before this answer arrived.
        if known.dequeue_count > 0 {
            return;
        }
        known.stored = Some(now);
        known.id = Some(id);
        known.receipt = Some(receipt.to_owned());
        known.hidden_max = now + put.visibility_timeout;
        let sent = known.sent;
        if known.existence == Existence::Maybe && self.is_uncleared_since(sent) {
            self.set_existence(put.label, Existence::Certain);
        }
    }

    /// The answer of a put was lost.
    pub(crate) fn put_lost(&mut self, put: &Put, now: Time) {
        if let Some(known) = self.messages.get_mut(&put.label) {
            let hidden = now + self.late + put.visibility_timeout;
            known.hidden_max = known.hidden_max.max(hidden);
            known.is_moved = true;
        }
    }

    /// Whether a message expires.
    pub(crate) fn expires(&self, label: Label) -> bool {
        let known = self.messages.get(&label);
        known.is_some_and(|known| known.time_to_live.is_some())
    }

    /// Compares an approximate number of messages, requested at `sent`.
    pub(crate) fn check_count(&self, count: u64, sent: Time, now: Time) -> Check {
        let stored = self.messages.values();
        let stored = stored.filter(|known| known.is_stored(sent, now)).count() as u64;
        if count < stored {
            return Err(format!(
                "the number of messages is {count}, not at least {stored}"
            ));
        }
        Ok(())
    }

    /// Checks, after all messages were received and deleted, that none was lost.
    pub(crate) fn check_empty(&self, now: Time) -> Check {
        let mut left = self.messages.iter();
        match left.find(|(_, known)| known.is_stored(now, now)) {
            Some((label, known)) => Err(format!("{label:?} was not received again: {known:?}")),
            None => Ok(()),
        }
    }

    /// The time from which on all messages are visible, if there are no further requests.
    pub(crate) fn all_visible(&self) -> Time {
        let hidden = self.messages.values().map(|known| known.hidden_max);
        let latest = hidden.max().unwrap_or_default();
        latest.max(self.hidden_until).max(self.cleared_until) + self.late
    }

    fn set_existence(&mut self, label: Label, existence: Existence) {
        if let Some(known) = self.messages.get_mut(&label) {
            known.existence = existence;
        }
    }
}
