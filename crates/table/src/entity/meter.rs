//! Charges the rows of a page to the scalability targets.
//!
//! A page is charged partition by partition. It starts only if no target is in debt. When its charges put a target in
//! debt, the page ends, and the next page starts at the next key.

use crate::{Error, Service, Table};
use bytes::Bytes;
use partita_model::indivisible_prefix;
use partita_service::{Cost, Targets};

/// The meter of one page. A no-op without targets.
pub(super) struct Meter<'a> {
    targets: Option<&'a Targets>,
    service: &'a Service,
    table: &'a Table,
    /// A key of the current partition, and its uncharged cost.
    uncharged: Option<(Bytes, Cost)>,
    has_charged: bool,
    in_debt: bool,
}

impl<'a> Meter<'a> {
    pub(super) fn new(service: &'a Service, table: &'a Table) -> Self {
        Self {
            targets: service.storage().targets.as_deref(),
            service,
            table,
            uncharged: None,
            has_charged: false,
            in_debt: false,
        }
    }

    /// Whether the page may read this row. Checked at the start of each partition: a query of a whole table must not
    /// read a partition that is over its target.
    ///
    /// # Errors
    /// [`Error::Busy`] on the first row: the whole page is refused.
    pub(super) fn may_read(&mut self, key: &Bytes) -> Result<bool, Error> {
        let Some(targets) = self.targets else {
            return Ok(true);
        };
        let same = self.uncharged.as_ref().is_some_and(|(first, _)| {
            indivisible_prefix(first).is_some_and(|partition| key.starts_with(partition))
        });
        if same {
            return Ok(true);
        }
        self.charge();
        let (service, table) = (self.service, self.table);
        let now = service.clock().monotonic();
        let charged = service.charged(table, key);
        if self.has_charged {
            return Ok(targets.allows(now, &charged));
        }
        let allowed = targets.check(now, &charged, || table.scope_names(key));
        allowed.inspect_err(|_| service.storage().note_throttled(key, 1))?;
        Ok(true)
    }

    /// Counts a row of a checked partition.
    pub(super) fn row(&mut self, key: &Bytes, bytes: usize) {
        if self.targets.is_none() {
            return;
        }
        let (_, cost) = self
            .uncharged
            .get_or_insert_with(|| (key.clone(), Cost::default()));
        cost.entities += 1;
        cost.bytes += bytes as u64;
    }

    /// Charges the counted rows. Returns whether the page must end.
    pub(super) fn charge(&mut self) -> bool {
        if let (Some(targets), Some((key, cost))) = (self.targets, self.uncharged.take()) {
            let now = self.service.clock().monotonic();
            let charged = self.service.charged(self.table, &key);
            self.in_debt |= targets.charge(now, &charged, cost);
            self.has_charged = true;
        }
        self.in_debt
    }

    /// Charges the rest of a complete page. A page without rows is charged as one entity at `start`.
    pub(super) fn finish(mut self, start: Option<Bytes>) {
        self.charge();
        if let Some(start) = start.filter(|_| !self.has_charged) {
            self.uncharged = Some((start, Cost::ONE));
            self.charge();
        }
    }
}
