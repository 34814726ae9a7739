//! Deletions and updates: requests with the receipt of a message.

use std::time::Duration;

use super::message::{Existence, Known, SKEW};
use super::{Check, Label, QueueModel, Time};

/// An update: how long the message is hidden, and its new text.
#[derive(Clone, Debug)]
pub(crate) struct Update {
    pub(crate) visibility_timeout: Duration,
    pub(crate) text: Option<String>,
}

/// A deletion or an update that was sent.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    label: Label,
    sent: Time,
    update: Option<Update>,
    /// Whether the receipt was not the message's newest, or the message was gone, when the request was sent.
    must_fail: bool,
    is_newest: bool,
    /// Whether the message was stored for certain, with this receipt.
    is_current: bool,
    /// The time before which no receive could return it.
    hidden: Time,
    dequeue_count: u32,
}

impl Known {
    fn is_gone(&self, now: Time) -> bool {
        let is_removed = matches!(
            self.existence,
            Existence::Deleted(_) | Existence::Cleared(_)
        );
        is_removed || self.is_expired(now)
    }
}

impl QueueModel {
    /// A request with a receipt of a message is sent: a deletion, or an update.
    pub(crate) fn change_sent(
        &mut self,
        label: Label,
        receipt: &str,
        update: Option<Update>,
        now: Time,
    ) -> Check<Change> {
        let is_uncleared = self.is_uncleared_since(now);
        let known = self.messages.get_mut(&label);
        let known = known.ok_or_else(|| format!("{label:?} is unknown"))?;
        let is_newest = known.receipt.as_deref() == Some(receipt);
        let change = Change {
            label,
            sent: now,
            must_fail: known.is_gone(now) || (known.receipt.is_some() && !is_newest),
            is_current: is_newest && is_uncleared && known.is_stored(now, now),
            is_newest,
            hidden: known.hidden_min,
            dequeue_count: known.dequeue_count,
            update,
        };
        if !is_newest {
            return Ok(change);
        }
        known.named = now;
        known.is_busy = true;
        match &change.update {
            Some(update) => {
                known.hidden_min = known.hidden_min.min(now + update.visibility_timeout);
                known.texts.extend(update.text.clone());
                known.is_moved = true;
            }
            None if known.existence == Existence::Certain => known.existence = Existence::Maybe,
            None => {}
        }
        Ok(change)
    }

    /// Takes the success of a change; with the new receipt after an update.
    pub(crate) fn change_done(
        &mut self,
        change: &Change,
        receipt: Option<&str>,
        now: Time,
    ) -> Check {
        let label = change.label;
        if change.must_fail {
            return Err(format!(
                "{label:?}: an old receipt was accepted: {change:?}"
            ));
        }
        let Some(known) = self.messages.get_mut(&label) else {
            return Ok(());
        };
        known.is_busy = false;
        let was_received = known.dequeue_count != change.dequeue_count;
        match (&change.update, receipt) {
            (None, _) if was_received => Err(format!(
                "{label:?} was received, and then deleted with an older receipt"
            )),
            (None, _) => {
                known.existence = Existence::Deleted(now);
                Ok(())
            }
            // The receive was executed after the update.
            (Some(_), Some(_)) if was_received => Ok(()),
            (Some(update), Some(receipt)) => {
                known.receipt = Some(receipt.to_owned());
                known.hidden_min = change.sent + update.visibility_timeout;
                known.hidden_max = now + update.visibility_timeout;
                known.changed = now;
                if let Some(text) = &update.text {
                    known.texts = vec![text.clone()];
                }
                Ok(())
            }
            (Some(_), None) => Err(format!("{label:?}: an update without a receipt")),
        }
    }

    /// Takes the answer 404 MessageNotFound.
    pub(crate) fn change_refused(&mut self, change: &Change, now: Time) -> Check {
        let (label, is_uncleared) = (change.label, self.is_uncleared_since(change.sent));
        let Some(known) = self.messages.get_mut(&label) else {
            return Ok(());
        };
        let is_current = change.is_current && is_uncleared && !known.may_be_expired(now);
        if is_current && change.hidden > now + SKEW {
            return Err(format!(
                "{label:?}: a valid receipt was refused: {change:?}"
            ));
        }
        if change.is_newest && known.dequeue_count == change.dequeue_count {
            known.is_busy = false;
            // Not deleted by this request.
            if change.is_current && is_uncleared && known.existence == Existence::Maybe {
                known.existence = Existence::Certain;
            }
        }
        Ok(())
    }

    /// The answer of a change was lost.
    pub(crate) fn change_lost(&mut self, change: &Change, now: Time) {
        let Some(known) = self.messages.get_mut(&change.label) else {
            return;
        };
        if !change.is_newest || known.dequeue_count != change.dequeue_count {
            return;
        }
        known.is_busy = false;
        if let Some(update) = &change.update {
            let hidden = now + self.late + update.visibility_timeout;
            known.hidden_max = known.hidden_max.max(hidden);
            known.receipt = None;
        }
    }
}
