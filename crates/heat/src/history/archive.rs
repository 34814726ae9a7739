//! The heat history in the object store: saved each minute, loaded at startup.
//!
//! Each object is a *segment*: the slots of one tier over the time range in its name. Each save writes the new slots as
//! one segment. Once all slots of a full hour have been merged into coarser slots, one segment replaces the segments of
//! that hour. So the archive has at most about 150 objects, and a save writes few bytes.
//!
//! Invariants:
//! - a segment never changes, and is deleted only after another segment covers its time, or when it is a day old;
//! - overlapping segments hold the same load: the segment that begins first and ends last is read completely, and the
//!   others only from the end of that segment on;
//! - fine segments do not cross a full hour.
//!
//! ```text
//! 08:00 hour, medium │ 09:00 hour, medium │ 10:00 10:01 10:02 … 11:13 fine
//! ```
//!
//! A failure here never stops a server: an unreadable segment is skipped with a warning, a failed write is retried.
//! Slots that could not be written for more than an hour are written in a coarser tier. If an earlier segment has a
//! part of such a slot, the rest becomes readable only when its full hour is written.

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

/// The timeout of one request to the object store.
const CALL_TIMEOUT: Duration = Duration::from_secs(10);
/// The maximum size of a segment, in bytes; larger ones are skipped as unreadable. An hour of slots, each with
/// different busy partitions and the longest keys, is smaller.
const SEGMENT_BYTES_MAX: u64 = 32 << 20;

/// A save that was not completed. The next save writes the rest.
#[derive(Debug, Error)]
pub enum SaveError {
    /// The object store returned an error.
    #[error("the store cannot write the heat history")]
    Store(#[from] object_store::Error),
    /// The object store did not answer within 10 s.
    #[error("the store timed out after 10s")]
    Timeout,
}

/// The heat history in an object store. One archive per history.
#[derive(Debug)]
pub struct Archive {
    store: Arc<dyn ObjectStore>,
    prefix: Path,
    /// Segments that this process has read or written.
    pub(super) segments: BTreeSet<SegmentName>,
    /// Superseded or old segments, to be deleted.
    obsolete: BTreeSet<SegmentName>,
    /// Unreadable segments. Another version may be able to read them, so they stay until they are a day old.
    pub(super) unreadable: BTreeSet<SegmentName>,
}

/// The segments of one save.
pub(super) struct Pending {
    pub(super) puts: Vec<(SegmentName, Vec<u8>)>,
    saved_to: Time,
}

impl Archive {
    /// An archive of objects below `prefix`, which must not hold other objects.
    #[must_use]
    pub const fn new(store: Arc<dyn ObjectStore>, prefix: Path) -> Self {
        Self {
            store,
            prefix,
            segments: BTreeSet::new(),
            obsolete: BTreeSet::new(),
            unreadable: BTreeSet::new(),
        }
    }

    /// Loads the saved history of the last day. Segments that cannot be read are logged and skipped. Cancel safe.
    pub async fn load(&mut self, now: SystemTime) -> HeatHistory {
        let now = super::time_of(now);
        let mut tiers = Tiers::default();
        let found = self.list().await;
        let (current, old) = found.into_iter().partition(|name| is_current(name, now));
        self.obsolete = old;
        let mut current: Vec<SegmentName> = BTreeSet::into_iter(current).collect();
        // Sorts by start; of segments with the same start, the longest is first, and of these the coarsest.
        current.sort_by_key(|name| (name.from, u32::MAX - name.to, u32::MAX - name.tier.span()));
        let mut read_to = 0;
        for name in current {
            if name.to <= read_to {
                self.obsolete.insert(name);
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

    /// Writes new slots up to the last full minute; to be called each minute, after [`HeatHistory::record`]. Rewrites
    /// slots that have become coarser and deletes old segments. Not cancel safe: dropping it loses the slots that were
    /// not written yet.
    ///
    /// # Errors
    /// [`SaveError`]: the history in memory is complete, and the next save continues.
    pub async fn save(&mut self, history: &HeatHistory, now: SystemTime) -> Result<(), SaveError> {
        let now = super::time_of(now);
        self.save_before(history, Tier::Medium.align(now), now)
            .await
    }

    /// Like [`Archive::save`], but includes the current slot: for an orderly shutdown, after the last
    /// [`HeatHistory::record`].
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
        // From now on new load is added to later slots, because the slots being written are not written again.
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
        self.obsolete
            .extend(self.segments.extract_if(.., |name| gone(name)));
        self.obsolete
            .extend(self.unreadable.extract_if(.., |name| gone(name)));
        while let Some(name) = self.obsolete.first().copied() {
            self.remove(name).await?;
            self.obsolete.remove(&name);
        }
        Ok(())
    }

    /// The segments to write: new slots, and hours that have become coarser.
    pub(super) fn pending(&self, tiers: &Tiers, end: Time) -> Pending {
        let newest = tiers.newest().map_or(0, |newest| newest + 1);
        let saved_to = end.min(newest).max(tiers.saved_to);
        let mut puts = Vec::new();
        // New slots are in the finest tier, unless saves failed for an hour.
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
        let coarser = self.coarser_hours(tiers).into_iter();
        puts.extend(coarser.filter_map(|name| encode(tiers, name)));
        Pending { puts, saved_to }
    }

    /// Hours whose slots have all become coarser than their stored form.
    fn coarser_hours(&self, tiers: &Tiers) -> BTreeSet<SegmentName> {
        let hour = |time: Time, tier: Tier| {
            let from = time - time % HOUR;
            let to = from + HOUR;
            SegmentName { from, to, tier }
        };
        let mut hours = BTreeSet::new();
        for (tier, finer) in [(Tier::Medium, Tier::Fine), (Tier::Coarse, Tier::Medium)] {
            // An hour without a stored segment must be written too.
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
                tracing::warn!(error = %error_chain(&error), "cannot list the heat history; starting with an empty one");
                return BTreeSet::new();
            }
        };
        let mut names = BTreeSet::new();
        for object in objects {
            match object.location.filename().and_then(SegmentName::parse) {
                Some(name) => _ = names.insert(name),
                None => {
                    tracing::warn!(object = %object.location, "skipped an object that is not a heat history segment");
                }
            }
        }
        names
    }

    /// Adds the slots of a segment, starting at `from`, to the tiers. Returns `false` if the segment is unreadable.
    async fn read(&self, name: SegmentName, from: Time, tiers: &mut Tiers) -> bool {
        let path = self.path(name);
        let got = within(async {
            let object = self.store.get(&path).await?;
            Ok(match object.meta.size <= SEGMENT_BYTES_MAX {
                true => Some(object.bytes().await?),
                false => None,
            })
        });
        let reason = match got.await {
            Ok(None) => "larger than 32 MiB".to_owned(),
            Ok(Some(bytes)) => match segment::decode(name, &bytes, &mut tiers.keys) {
                Ok(slots) => {
                    for slot in slots.into_iter().filter(|slot| slot.start >= from) {
                        tiers.put(name.tier, slot.start, slot.into_load());
                    }
                    return true;
                }
                Err(fault) => fault.to_string(),
            },
            Err(error) => error_chain(&error),
        };
        tracing::warn!(object = %path, error = %reason, "skipped an unreadable heat history segment");
        false
    }

    /// Writes a segment. This makes other segments within its time range obsolete.
    async fn write(&mut self, name: SegmentName, bytes: Vec<u8>) -> Result<(), SaveError> {
        let path = self.path(name);
        within(self.store.put(&path, bytes.into())).await?;
        self.obsolete
            .extend(self.segments.extract_if(.., |other| name.holds(other)));
        self.segments.insert(name);
        self.obsolete.remove(&name);
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

/// Whether a part of the segment is less than a day old, and its times are not far in the future.
fn is_current(name: &SegmentName, now: Time) -> bool {
    name.to > now.saturating_sub(KEPT) && name.from <= now.saturating_add(AHEAD_MAX)
}

/// Encodes the slots in the time range of the segment's name; `None` if there are no slots.
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

/// An error with its causes.
fn error_chain(error: &dyn std::error::Error) -> String {
    let chain = std::iter::successors(Some(error), |error| error.source());
    let texts: Vec<String> = chain.map(ToString::to_string).collect();
    texts.join(": ")
}
