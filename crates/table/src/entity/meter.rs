//! What a page has looked at and not paid for yet, of targets.
//!
//! A page pays piece by piece, partition by partition. It begins when nothing is in debt; once it has made one it ends, at a key
//! where the next page goes on.

use crate::targets::{Cost, Targets};
use crate::{Error, Service, Table};
use bytes::Bytes;
use partita_model::indivisible_prefix;

/// The meter of one page. Does nothing without targets.
pub(super) struct Meter<'a> {
    targets: Option<&'a Targets>,
    service: &'a Service,
    table: &'a Table,
    /// A key of the partition being looked at, and what is not paid of it.
    unpaid: Option<(Bytes, Cost)>,
    has_paid: bool,
    is_over: bool,
}

impl<'a> Meter<'a> {
    pub(super) fn new(service: &'a Service, table: &'a Table) -> Self {
        Self {
            targets: service.targets(),
            service,
            table,
            unpaid: None,
            has_paid: false,
            is_over: false,
        }
    }

    /// Whether the page may go on to this row. Asked where a partition begins: a query of a whole table may not look at one that is
    /// over its target.
    ///
    /// # Errors
    /// [`Error::Busy`] when nothing was looked at so far: then the page is refused.
    pub(super) fn may_look(&mut self, key: &Bytes) -> Result<bool, Error> {
        let Some(targets) = self.targets else {
            return Ok(true);
        };
        let same = self.unpaid.as_ref().is_some_and(|(first, _)| {
            indivisible_prefix(first).is_some_and(|partition| key.starts_with(partition))
        });
        if same {
            return Ok(true);
        }
        self.pay();
        let now = self.service.clock().monotonic();
        if self.has_paid {
            return Ok(targets.allows(now, self.table, key));
        }
        let allowed = targets.check(now, self.table, key);
        allowed.inspect_err(|_| self.service.note_throttled(key, 1))?;
        Ok(true)
    }

    /// A row was looked at, of a partition that was asked for.
    pub(super) fn row(&mut self, key: &Bytes, bytes: usize) {
        if self.targets.is_none() {
            return;
        }
        let (_, cost) = self
            .unpaid
            .get_or_insert_with(|| (key.clone(), Cost::default()));
        cost.entities += 1;
        cost.bytes += bytes as u64;
    }

    /// Pays what was looked at; whether the page has to end.
    pub(super) fn pay(&mut self) -> bool {
        if let (Some(targets), Some((key, cost))) = (self.targets, self.unpaid.take()) {
            let now = self.service.clock().monotonic();
            self.is_over |= targets.charge(now, self.table, &key, cost);
            self.has_paid = true;
        }
        self.is_over
    }

    /// The page is done. One that looked at nothing, from `start` on, pays for one entity.
    pub(super) fn finish(mut self, start: Option<Bytes>) {
        self.pay();
        if let Some(start) = start.filter(|_| !self.has_paid) {
            let cost = Cost {
                entities: 1,
                bytes: 0,
            };
            self.unpaid = Some((start, cost));
            self.pay();
        }
    }
}
