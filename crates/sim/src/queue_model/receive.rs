//! Receives and peeks.

use std::collections::BTreeMap;
use std::time::Duration;

use super::message::{Existence, SKEW};
use super::{Check, Label, QueueModel, Time};

/// A receive that was sent.
#[derive(Clone, Debug)]
pub(crate) struct Receive {
    pub(crate) count: usize,
    pub(crate) visibility_timeout: Duration,
    sent: Time,
    /// The number of this receive; `None` if others waited for their answers.
    alone: Option<u64>,
}

/// A message in an answer.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) label: Label,
    pub(crate) id: String,
    pub(crate) text: String,
    pub(crate) dequeue_count: u32,
    /// Its receipt; none in a peek.
    pub(crate) receipt: Option<String>,
}

impl QueueModel {
    pub(crate) fn receive_sent(
        &mut self,
        count: usize,
        visibility_timeout: Duration,
        now: Time,
    ) -> Receive {
        self.receives_begun += 1;
        let alone = (self.receives_running == 0).then_some(self.receives_begun);
        self.receives_running += 1;
        Receive {
            count,
            visibility_timeout,
            sent: now,
            alone,
        }
    }

    /// Takes the messages of a receive.
    pub(crate) fn receive_done(&mut self, receive: &Receive, found: &[Found], now: Time) -> Check {
        self.receives_running -= 1;
        let mut last = BTreeMap::new();
        for message in found {
            if self.is_overtaken(receive, message) {
                continue;
            }
            let checked = self.check_received(receive, message, &last, now);
            checked.map_err(|wrong| format!("received {:?}: {wrong}", message.label))?;
            let (producer, number) = message.label;
            let last = last.entry(producer).or_insert(number);
            *last = number.max(*last);
        }
        self.check_complete(receive, found, now)?;
        for message in found {
            if !self.is_overtaken(receive, message) {
                self.hide(receive, message, now);
            }
        }
        Ok(())
    }

    /// Whether a message was received again before this answer arrived: the answer shows an earlier state, with an old
    /// receipt.
    fn is_overtaken(&self, receive: &Receive, found: &Found) -> bool {
        self.messages.get(&found.label).is_some_and(|known| {
            found.dequeue_count < known.dequeue_count && receive.sent <= known.changed
        })
    }

    /// The answer of a receive that waited at most `wait` was lost.
    pub(crate) fn receive_lost(&mut self, receive: &Receive, wait: Duration, now: Time) {
        self.receives_running -= 1;
        self.receive_lost = Some(now + self.late + wait);
        let hidden = now + self.late + wait + receive.visibility_timeout;
        self.hidden_until = self.hidden_until.max(hidden);
    }

    /// Checks a received message. `last` has the greatest number of each producer before it in the answer.
    fn check_received(
        &self,
        receive: &Receive,
        found: &Found,
        last: &BTreeMap<u64, u64>,
        now: Time,
    ) -> Check {
        let known = self.messages.get(&found.label);
        let known = known.ok_or("it was never put")?;
        let fail = |wrong: &str| Err(format!("{wrong}: {found:?}, {receive:?}, {known:?}"));
        match known.existence {
            Existence::Deleted(_) => return fail("it was deleted"),
            Existence::Cleared(time) if time <= receive.sent => return fail("it was cleared"),
            _ => {}
        }
        if known.is_expired(receive.sent) {
            return fail("it has expired");
        }
        if now + SKEW < known.hidden_min {
            return fail("it is hidden");
        }
        if known.id.as_ref().is_some_and(|id| *id != found.id) || found.receipt.is_none() {
            return fail("its id or receipt is wrong");
        }
        if !known.texts.contains(&found.text) {
            return fail("its text is wrong");
        }
        let next = known.dequeue_count + 1;
        let is_counted =
            self.receives_running == 0 && self.receive_lost.is_none_or(|lost| lost <= known.sent);
        if found.dequeue_count < next || (is_counted && found.dequeue_count > next) {
            return fail("its dequeue count is wrong");
        }
        let (producer, number) = found.label;
        let mut later = self
            .messages
            .range((producer, number + 1)..(producer + 1, 0));
        let is_late = later.any(|(_, later)| later.received.is_some_and(|at| at < receive.sent))
            || last.get(&producer).is_some_and(|last| *last > number);
        if found.dequeue_count == 1 && !known.is_moved && is_late {
            return fail("a later message of its producer was received before it");
        }
        Ok(())
    }

    /// Checks that an answer with fewer messages than requested has all that are visible.
    fn check_complete(&self, receive: &Receive, found: &[Found], now: Time) -> Check {
        let is_alone = receive.alone == Some(self.receives_begun);
        if found.len() >= receive.count || !is_alone || self.hidden_until > receive.sent {
            return Ok(());
        }
        self.check_all_visible(found, receive.sent, now)
    }

    fn check_all_visible(&self, found: &[Found], sent: Time, now: Time) -> Check {
        for (label, known) in &self.messages {
            let is_found = found.iter().any(|found| found.label == *label);
            if !is_found && known.is_visible(sent, now) {
                return Err(format!(
                    "{label:?} is visible, but not in an answer: {known:?}"
                ));
            }
        }
        Ok(())
    }

    fn hide(&mut self, receive: &Receive, found: &Found, now: Time) {
        let is_uncleared = self.is_uncleared_since(receive.sent);
        let Some(known) = self.messages.get_mut(&found.label) else {
            return;
        };
        if let (Existence::Maybe, true) = (known.existence, is_uncleared) {
            known.existence = Existence::Certain;
        }
        known.stored.get_or_insert(now);
        known.received.get_or_insert(now);
        known.id = Some(found.id.clone());
        known.dequeue_count = found.dequeue_count;
        known.receipt.clone_from(&found.receipt);
        known.texts = vec![found.text.clone()];
        known.hidden_min = receive.sent + receive.visibility_timeout;
        known.hidden_max = now + receive.visibility_timeout;
        known.changed = now;
        // A request with an older receipt has no effect any more.
        known.is_busy = false;
    }

    /// Takes the messages of a peek for `count` messages, sent at `sent`.
    pub(crate) fn check_peek(&self, count: usize, found: &[Found], sent: Time, now: Time) -> Check {
        for message in found {
            let label = message.label;
            let known = self.messages.get(&label);
            let known = known.ok_or_else(|| format!("peeked {label:?}, which was never put"))?;
            let is_removed = match known.existence {
                Existence::Deleted(time) | Existence::Cleared(time) => time <= sent,
                Existence::Certain | Existence::Maybe => false,
            };
            let is_quiet = known.is_quiet(sent);
            let is_hidden = is_quiet && now + SKEW < known.hidden_min;
            if is_removed || is_hidden || known.is_expired(sent) {
                return Err(format!("peeked {label:?}, which is not visible: {known:?}"));
            }
            if is_quiet && !known.texts.contains(&message.text) {
                return Err(format!("peeked {label:?} with a wrong text: {known:?}"));
            }
        }
        let is_quiet = self.receives_running == 0 && self.hidden_until <= sent;
        if found.len() < count && is_quiet {
            return self.check_all_visible(found, sent, now);
        }
        Ok(())
    }
}
