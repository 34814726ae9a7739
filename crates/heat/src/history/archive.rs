//! Heat in the object store: written each minute, read once at the start.
//!
//! Each object is a *segment*: the slots of one tier over some time, which its name states. Each save writes new slots into a
//! segment of their own; once all slots of a full hour have become coarser, one segment with the coarser ones replaces that hour's
//! others. So there are at most about 150 objects, and a save writes little.
//!
//! Invariants:
//! - a segment is never changed, and deleted only after one that covers its time was written, or when it is a day old;
//! - segments that overlap hold the same load: the one that begins first and ends last is read, and of others what is after it;
//! - fine segments do not cross the full hour.
//!
//! ```text
//! 08:00 hour, medium │ 09:00 hour, medium │ 10:00 10:01 10:02 … 11:13 fine
//! ```
//!
//! No failure here stops a server: a segment that cannot be read is skipped with a warning, one that cannot be written is tried
//! again. Slots that could not be written for more than an hour are written in a coarser tier; of a slot that is partly in an
//! earlier segment, the later part can be read only once its full hour has been written.

use super::HeatHistory;
use super::segment::{self, SegmentName};
use super::slot::Time;
use super::tiers::{AHEAD_MAX, HOUR, KEPT, Tier, Tiers};
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use thiserror::Error;

/// How long one call of the store may take.
const CALL_TIMEOUT: Duration = Duration::from_secs(10);
/// The most bytes of a segment: more than an hour of slots with different busy partitions in each and the longest keys. A larger
/// object is not a segment.
const SEGMENT_BYTES_MAX: u64 = 32 << 20;

/// A save that was not completed. The next one writes the rest.
#[derive(Debug, Error)]
pub enum SaveError {
    /// The store refused or failed.
    #[error("the store cannot take the heat history")]
    Store(#[from] object_store::Error),
    /// The store did not answer within 10 s.
    #[error("the store does not answer")]
    Timeout,
}

/// The heat history in an object store. One per history.
#[derive(Debug)]
pub struct Archive {
    store: Arc<dyn ObjectStore>,
    prefix: Path,
    /// Segments that this process has read or written.
    pub(super) segments: BTreeSet<SegmentName>,
    /// Those that are of no use: to be removed.
    useless: BTreeSet<SegmentName>,
    /// Those that cannot be read. They are left for whoever can, until they are a day old.
    pub(super) unreadable: BTreeSet<SegmentName>,
}

/// What one save writes.
pub(super) struct Pending {
    pub(super) puts: Vec<(SegmentName, Vec<u8>)>,
    saved_to: Time,
}

impl Archive {
    /// An archive of objects below `prefix`, which nothing else uses.
    #[must_use]
    pub const fn new(store: Arc<dyn ObjectStore>, prefix: Path) -> Self {
        Self {
            store,
            prefix,
            segments: BTreeSet::new(),
            useless: BTreeSet::new(),
            unreadable: BTreeSet::new(),
        }
    }

    /// The history as it was saved, at most a day old. What cannot be read is missing, and was logged; there is no failure.
    /// Cancel safe.
    pub async fn load(&mut self, now: SystemTime) -> HeatHistory {
        let now = super::time_of(now);
        let mut tiers = Tiers::default();
        let found = self.list().await;
        let (current, old) = found.into_iter().partition(|name| is_current(name, now));
        self.useless = old;
        let mut current: Vec<SegmentName> = BTreeSet::into_iter(current).collect();
        // Of those that begin together the one that reaches furthest, and is coarsest, first.
        current.sort_by_key(|name| (name.from, u32::MAX - name.to, u32::MAX - name.tier.span()));
        let mut read_to = 0;
        for name in current {
            if name.to <= read_to {
                self.useless.insert(name);
            } else if self.read(name, read_to, &mut tiers).await {
                self.segments.insert(name);
                read_to = name.to;
            } else {
                self.unreadable.insert(name);
            }
        }
        tiers.saved_to = read_to;
        tiers.age();
        HeatHistory::of(tiers)
    }

    /// Writes what is new, up to the last full minute: called each minute, after [`HeatHistory::record`]. What has become coarser
    /// is rewritten, what is old removed. Not cancel safe: what was not written yet is not written any more then.
    ///
    /// # Errors
    /// [`SaveError`]: the history in memory is whole, and the next save goes on.
    pub async fn save(&mut self, history: &HeatHistory, now: SystemTime) -> Result<(), SaveError> {
        let now = super::time_of(now);
        self.save_before(history, Tier::Medium.align(now), now)
            .await
    }

    /// As [`Archive::save`], with the slot of now: for an orderly end, after which nothing is recorded.
    ///
    /// # Errors
    /// As [`Archive::save`].
    pub async fn save_all(
        &mut self,
        history: &HeatHistory,
        now: SystemTime,
    ) -> Result<(), SaveError> {
        let now = super::time_of(now);
        self.save_before(history, Time::MAX, now).await
    }

    async fn save_before(
        &mut self,
        history: &HeatHistory,
        end: Time,
        now: Time,
    ) -> Result<(), SaveError> {
        // From here on what happens belongs to later slots: those that are being written would not be written again.
        let (pending, saved_before) = history.with(|tiers| {
            let pending = self.pending(tiers, end);
            let saved_before = std::mem::replace(&mut tiers.saved_to, pending.saved_to);
            (pending, saved_before)
        });
        for (name, bytes) in pending.puts {
            if let Err(error) = self.write(name, bytes).await {
                history.with(|tiers| tiers.saved_to = saved_before);
                return Err(error);
            }
        }
        let gone = |name: &SegmentName| !is_current(name, now);
        self.useless
            .extend(self.segments.extract_if(.., |name| gone(name)));
        self.useless
            .extend(self.unreadable.extract_if(.., |name| gone(name)));
        while let Some(name) = self.useless.first().copied() {
            self.remove(name).await?;
            self.useless.remove(&name);
        }
        Ok(())
    }

    /// What is to be written: new slots, and hours that have become coarser.
    pub(super) fn pending(&self, tiers: &Tiers, end: Time) -> Pending {
        let newest = tiers.newest().map_or(0, |newest| newest + 1);
        let saved_to = end.min(newest).max(tiers.saved_to);
        let mut puts = Vec::new();
        // Nearly always all that is new is fine. It is coarser where the store took nothing for an hour.
        for (tier, tier_ends) in [
            (Tier::Coarse, tiers.begins(Tier::Medium)),
            (Tier::Medium, tiers.begins(Tier::Fine)),
            (Tier::Fine, Time::MAX),
        ] {
            let mut from = tier.align(tiers.saved_to.max(tiers.begins(tier)));
            let end = saved_to.min(tier_ends);
            while from < end {
                let to = end.min((from / HOUR + 1) * HOUR);
                puts.extend(encode(tiers, SegmentName { from, to, tier }));
                from = to;
            }
        }
        puts.extend(
            self.coarser_hours(tiers)
                .into_iter()
                .filter_map(|name| encode(tiers, name)),
        );
        Pending { puts, saved_to }
    }

    /// Hours all of whose slots are of a coarser tier than what is stored of them.
    fn coarser_hours(&self, tiers: &Tiers) -> BTreeSet<SegmentName> {
        let hour = |time: Time, tier: Tier| {
            let from = time - time % HOUR;
            let to = from + HOUR;
            SegmentName { from, to, tier }
        };
        let mut hours = BTreeSet::new();
        for (tier, finer) in [(Tier::Medium, Tier::Fine), (Tier::Coarse, Tier::Medium)] {
            // What is not stored yet counts as stored too fine.
            for slot in tiers.of(tier) {
                let name = hour(slot.start, tier);
                let whole = name.to <= tiers.begins(finer) && tiers.begins(tier) <= name.from;
                let last = tier == Tier::Coarse && name.to <= tiers.begins(finer);
                if (whole || last) && !self.segments.contains(&name) {
                    hours.insert(name);
                }
            }
        }
        hours
    }

    async fn list(&self) -> BTreeSet<SegmentName> {
        let listing = self.store.list_with_delimiter(Some(&self.prefix));
        let objects = match within(listing).await {
            Ok(listing) => listing.objects,
            Err(error) => {
                tracing::warn!(error = %error_chain(&error), "cannot list the heat history; it begins anew");
                return BTreeSet::new();
            }
        };
        let mut names = BTreeSet::new();
        for object in objects {
            let name = object.location.filename().and_then(SegmentName::parse);
            match name {
                Some(name) => _ = names.insert(name),
                None => {
                    tracing::warn!(object = %object.location, "passed over an object that is no piece of heat");
                }
            }
        }
        names
    }

    /// Reads a segment's slots from a time on into the tiers; false when it cannot be read.
    async fn read(&self, name: SegmentName, from: Time, tiers: &mut Tiers) -> bool {
        let path = self.path(name);
        let got = within(async {
            let object = self.store.get(&path).await?;
            let fits = object.meta.size <= SEGMENT_BYTES_MAX;
            let bytes = if fits {
                Some(object.bytes().await?)
            } else {
                None
            };
            Ok(bytes)
        });
        let reason = match got.await {
            Ok(None) => "it is too long".to_owned(),
            Ok(Some(bytes)) => match segment::decode(name, &bytes, &mut tiers.keys) {
                Ok(slots) => {
                    for slot in slots.into_iter().filter(|slot| slot.start >= from) {
                        tiers.put(name.tier, slot.start, slot.into_happened());
                    }
                    return true;
                }
                Err(fault) => fault.to_string(),
            },
            Err(error) => error_chain(&error),
        };
        tracing::warn!(object = %path, error = %reason, "passed over a piece of the heat history");
        false
    }

    /// Writes a segment; what it holds of others is of no use from then on.
    async fn write(&mut self, name: SegmentName, bytes: Vec<u8>) -> Result<(), SaveError> {
        let path = self.path(name);
        within(self.store.put(&path, bytes.into())).await?;
        self.useless
            .extend(self.segments.extract_if(.., |other| name.holds(other)));
        self.segments.insert(name);
        self.useless.remove(&name);
        self.unreadable.remove(&name);
        Ok(())
    }

    async fn remove(&self, name: SegmentName) -> Result<(), SaveError> {
        let path = self.path(name);
        match within(self.store.delete(&path)).await {
            Err(SaveError::Store(object_store::Error::NotFound { .. })) => Ok(()),
            result => result,
        }
    }

    fn path(&self, name: SegmentName) -> Path {
        self.prefix.clone().join(name.to_string())
    }
}

/// Whether any of it may still be shown, and a clock near the right time has made it.
fn is_current(name: &SegmentName, now: Time) -> bool {
    name.to > now.saturating_sub(KEPT) && name.from <= now.saturating_add(AHEAD_MAX)
}

/// A segment of the slots that are there; `None` without any.
fn encode(tiers: &Tiers, name: SegmentName) -> Option<(SegmentName, Vec<u8>)> {
    let slots = tiers.of(name.tier);
    let from = slots.partition_point(|slot| slot.start < name.from);
    let to = slots.partition_point(|slot| slot.start < name.to);
    (from < to).then(|| (name, segment::encode(name, slots.range(from..to))))
}

async fn within<T>(
    call: impl Future<Output = Result<T, object_store::Error>>,
) -> Result<T, SaveError> {
    match tokio::time::timeout(CALL_TIMEOUT, call).await {
        Ok(result) => Ok(result?),
        Err(_) => Err(SaveError::Timeout),
    }
}

/// An error with what lies behind it.
fn error_chain(error: &dyn std::error::Error) -> String {
    let behind = std::iter::successors(error.source(), |error| error.source());
    let mut text = error.to_string();
    for cause in behind {
        text.push_str(": ");
        text.push_str(&cause.to_string());
    }
    text
}
