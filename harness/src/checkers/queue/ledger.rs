//! What the workers know about each message.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use super::protocol::Received;

#[derive(Debug)]
struct Known {
    /// Whether the put was acknowledged; otherwise its outcome is unknown.
    is_put: bool,
    /// When a deletion was acknowledged.
    deleted: Option<Instant>,
    /// The deletions that were sent, and whose outcomes are unknown, by the received times of their receipts. Two consumers may
    /// delete a message: that one is refused says nothing of the other.
    deleting: BTreeSet<u64>,
    /// The greatest number of received times that was seen.
    dequeues: u64,
    /// A time before which the message is hidden, if that is known.
    hidden_until: Option<Instant>,
}

/// The number of messages at which the queue begins to rise, and that at which it begins to fall. In between it passes
/// the size of what the server keeps of a queue in memory, so that receives read rows too.
const BACKLOG_MIN: usize = 200;
const BACKLOG_MAX: usize = if cfg!(test) { 300 } else { 3_000 };

/// All messages by their text, which no two messages share.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    messages: BTreeMap<String, Known>,
    /// Messages that may exist, at most.
    backlog: usize,
    is_falling: bool,
}

impl Ledger {
    /// Whether more messages are to be put than deleted at present.
    pub(super) const fn is_rising(&mut self) -> bool {
        if self.backlog <= BACKLOG_MIN {
            self.is_falling = false;
        } else if self.backlog >= BACKLOG_MAX {
            self.is_falling = true;
        }
        !self.is_falling
    }

    /// A put is about to be sent.
    pub(super) fn putting(&mut self, text: &str) {
        let known = Known {
            is_put: false,
            deleted: None,
            deleting: BTreeSet::new(),
            dequeues: 0,
            hidden_until: None,
        };
        self.messages.insert(text.to_owned(), known);
        self.backlog += 1;
    }

    /// A put was acknowledged.
    pub(super) fn put(&mut self, text: &str) {
        if let Some(known) = self.messages.get_mut(text) {
            known.is_put = true;
        }
    }

    /// A put was refused and not executed.
    pub(super) fn not_put(&mut self, text: &str) {
        self.messages.remove(text);
        self.backlog -= 1;
    }

    /// A message was received by a request sent at `sent` that hides it for `hidden`.
    ///
    /// # Errors
    /// What is wrong about that.
    pub(super) fn received(
        &mut self,
        message: &Received,
        sent: Instant,
        hidden: Duration,
    ) -> Result<(), String> {
        let now = Instant::now();
        let Some(known) = self.messages.get_mut(&message.text) else {
            return Err(format!("received a message that was not put: {message:?}"));
        };
        if let Some(deleted) = known.deleted
            && deleted < sent
        {
            return Err(format!("received a deleted message: {message:?}"));
        }
        if message.dequeues == known.dequeues {
            return Err(format!("received twice with the same count: {message:?}"));
        }
        if message.dequeues < known.dequeues {
            // Received before another consumer received it; only the answer is late.
            return Ok(());
        }
        if let Some(until) = known.hidden_until
            && now < until
        {
            let early = until - now;
            return Err(format!("received {early:?} too early: {message:?}"));
        }
        known.dequeues = message.dequeues;
        known.hidden_until = Some(sent + hidden);
        // A deletion with an earlier receipt did not happen, and will not.
        known.deleted = None;
        known.deleting.retain(|of| *of >= message.dequeues);
        Ok(())
    }

    /// An update of a received message is about to be sent.
    pub(super) fn updating(&mut self, message: &Received) {
        self.hide(message, None);
    }

    /// An update was acknowledged, which was sent at `sent` and hides the message for `hidden`.
    pub(super) fn updated(&mut self, message: &Received, sent: Instant, hidden: Duration) {
        self.hide(message, Some(sent + hidden));
    }

    fn hide(&mut self, message: &Received, until: Option<Instant>) {
        // Another consumer may have received it since.
        if let Some(known) = self.messages.get_mut(&message.text)
            && known.dequeues == message.dequeues
        {
            known.hidden_until = until;
        }
    }

    /// Whether the receipt of a message must be valid at a time: it is hidden, or no other consumer received it.
    pub(super) fn must_be_valid(&self, message: &Received, now: Instant) -> bool {
        self.messages.get(&message.text).is_some_and(|known| {
            known.dequeues == message.dequeues
                && known.hidden_until.is_some_and(|until| now < until)
        })
    }

    /// A deletion of a received message is about to be sent.
    pub(super) fn deleting(&mut self, message: &Received) {
        if let Some(known) = self.messages.get_mut(&message.text) {
            known.deleting.insert(message.dequeues);
        }
    }

    /// A deletion was acknowledged.
    pub(super) fn deleted(&mut self, text: &str) {
        if let Some(known) = self.messages.get_mut(text)
            && known.deleted.is_none()
        {
            known.deleted = Some(Instant::now());
            self.backlog -= 1;
        }
    }

    /// A deletion was refused and not executed.
    pub(super) fn not_deleted(&mut self, message: &Received) {
        if let Some(known) = self.messages.get_mut(&message.text) {
            known.deleting.remove(&message.dequeues);
        }
    }

    /// The number of messages that must be there.
    pub(super) fn least_count(&self) -> u64 {
        self.existing().count() as u64
    }

    /// The messages that must be there, at most ten.
    pub(super) fn missing(&self) -> Vec<&str> {
        let existing = self.existing().take(10);
        existing
            .map(|text| text.get(..20).unwrap_or(text))
            .collect()
    }

    fn existing(&self) -> impl Iterator<Item = &str> {
        let must_exist =
            |known: &Known| known.is_put && known.deleted.is_none() && known.deleting.is_empty();
        let messages = self.messages.iter();
        messages
            .filter(move |(_, known)| must_exist(known))
            .map(|(text, _)| text.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(dequeues: u64) -> Received {
        Received {
            id: "id".to_owned(),
            receipt: "receipt".to_owned(),
            dequeues,
            text: "m".to_owned(),
        }
    }

    fn ledger() -> Ledger {
        let mut ledger = Ledger::default();
        ledger.putting("m");
        ledger.put("m");
        ledger
    }

    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn a_message_must_be_there_until_its_deletion_was_sent() {
        let mut ledger = ledger();
        assert_eq!((ledger.least_count(), ledger.missing()), (1, vec!["m"]));
        ledger.deleting(&message(1));
        assert_eq!(ledger.least_count(), 0);
        ledger.not_deleted(&message(1));
        assert_eq!(ledger.least_count(), 1);
        ledger.deleted("m");
        let late = ledger.received(&message(1), Instant::now(), HOUR);
        assert!(late.unwrap_err().contains("deleted"));
    }

    /// The server was killed before it answered the first deletion, and had refused the second one, which came later.
    #[test]
    fn a_refused_deletion_says_nothing_of_another_one() {
        let mut ledger = ledger();
        ledger.deleting(&message(2));
        ledger.deleting(&message(1));
        ledger.not_deleted(&message(1));
        assert_eq!(ledger.least_count(), 0);
        ledger.received(&message(3), Instant::now(), HOUR).unwrap();
        assert_eq!(ledger.least_count(), 1);
    }

    #[test]
    fn the_queue_rises_and_falls_in_turn() {
        let mut ledger = Ledger::default();
        let texts: Vec<_> = (0..BACKLOG_MAX).map(|number| number.to_string()).collect();
        for text in &texts {
            assert!(ledger.is_rising());
            ledger.putting(text);
        }
        for text in &texts[BACKLOG_MIN..] {
            assert!(!ledger.is_rising());
            ledger.deleted(text);
            // Only the first deletion counts.
            ledger.deleted(text);
        }
        assert!(ledger.is_rising());
    }

    #[test]
    fn two_consumers_do_not_have_a_message_at_the_same_time() {
        let mut ledger = ledger();
        let now = Instant::now();
        ledger.received(&message(1), now, HOUR).unwrap();
        assert!(ledger.must_be_valid(&message(1), now));
        let early = ledger.received(&message(2), now, HOUR);
        assert!(early.unwrap_err().contains("too early"));
        ledger.updating(&message(1));
        ledger.received(&message(2), now, HOUR).unwrap();
        assert!(!ledger.must_be_valid(&message(1), now));
        // The late answer of an earlier receive, and a count that occurs twice.
        ledger.received(&message(1), now, HOUR).unwrap();
        assert!(ledger.received(&message(2), now, HOUR).is_err());
        let unknown = Received {
            text: "other".to_owned(),
            ..message(1)
        };
        assert!(ledger.received(&unknown, now, HOUR).is_err());
    }
}
