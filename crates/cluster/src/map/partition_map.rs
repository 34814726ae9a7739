//! The map from keys to ranges, in memory.

use arc_swap::ArcSwap;
use bytes::Bytes;
use partita_range::{InTransit, Locked, Range, RangeId};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;
use tokio::sync::watch;
use tokio::time::Instant;

/// How long a write waits for a range in transit, one that is being split or merged, before it is refused. Clients
/// retry within a second.
pub const TRANSIT_WAIT: Duration = Duration::from_millis(300);

/// The generation of a range's owner: a later owner of the same keys has a greater epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, Default)]
pub struct Epoch(pub u64);

/// A range served by this process.
#[derive(Debug, Clone)]
pub struct Served {
    /// The epoch under which it is served.
    pub epoch: Epoch,
    /// The tenure in which this process serves it: the revision of the registry that activated it. A range that a split
    /// or merge created has that of the ranges before. 0 in a process that is alone.
    pub tenure: u64,
    /// The range, with its bounds.
    pub range: Arc<Range>,
}

impl Served {
    fn start(&self) -> &Bytes {
        &self.range.bounds().start
    }

    fn end(&self) -> Option<&Bytes> {
        self.range.bounds().end.as_ref()
    }
}

/// Two ranges of a process have a key in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("two ranges overlap")]
pub struct OverlapError;

/// No range of this process has the key: another process may serve it, or no process does at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("no range of this server has the key")]
pub struct NotServed;

/// Why the keys of a write were not locked. Nothing was locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum LockError {
    /// The split or merge of their range took longer than [`TRANSIT_WAIT`].
    #[error("the range is in transit")]
    InTransit,
    /// The keys are in more than one range.
    #[error("the keys lie in more than one range")]
    CrossRange,
    /// No range of this process has the keys.
    #[error(transparent)]
    NotServed(#[from] NotServed),
}

/// The map from each key to the range of this process that serves it, if one does. A process that is alone serves every
/// key.
#[derive(Debug)]
pub struct PartitionMap {
    /// The ranges in key order, without overlaps.
    ranges: ArcSwap<Vec<Served>>,
    /// Notified when ranges are replaced, and when a frozen range accepts writes again.
    notify: watch::Sender<()>,
}

/// The range of a key, to be used for one read only: a replaced range continues to return its last state.
#[derive(Debug, Clone)]
pub struct Route {
    /// The range.
    pub range: Arc<Range>,
    /// The epoch under which it is served.
    pub epoch: Epoch,
    /// As in [`Served`].
    pub tenure: u64,
}

impl Route {
    /// The first key after the range; `None` for the last range.
    #[must_use]
    pub fn end(&self) -> Option<&Bytes> {
        self.range.bounds().end.as_ref()
    }
}

impl PartitionMap {
    /// A map of these ranges, in any order.
    ///
    /// # Errors
    /// [`OverlapError`].
    pub fn new(ranges: Vec<Served>) -> Result<Self, OverlapError> {
        let map = Self::default();
        map.replace(&[], ranges)?;
        Ok(map)
    }

    /// The range of a key.
    ///
    /// # Errors
    /// [`NotServed`]. Never in a process that serves every key.
    pub fn route(&self, key: &[u8]) -> Result<Route, NotServed> {
        let ranges = self.ranges.load();
        let after = ranges.partition_point(|served| served.start().as_ref() <= key);
        let before = after.checked_sub(1).and_then(|at| ranges.get(at));
        let served = before.filter(|served| served.range.bounds().contains(key));
        let served = served.ok_or(NotServed)?;
        Ok(Route {
            range: Arc::clone(&served.range),
            epoch: served.epoch,
            tenure: served.tenure,
        })
    }

    /// The range with this id, if this process serves it.
    #[must_use]
    pub fn find(&self, id: RangeId) -> Option<Served> {
        let ranges = self.ranges.load();
        ranges
            .iter()
            .find(|served| served.range.id() == id)
            .cloned()
    }

    /// Waits until ranges are replaced, or a frozen range accepts writes again. Cancel safe.
    pub fn changed(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut changes = self.notify.subscribe();
        async move {
            // Fails only when the map is gone.
            let _ = changes.changed().await;
        }
    }

    /// Locks the keys of a write in the range that serves them. Waits at most [`TRANSIT_WAIT`] for a range in transit,
    /// and for other writers of the keys without a limit. Cancel safe.
    ///
    /// # Errors
    /// [`LockError`]; no key is locked.
    pub async fn lock<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Locked, LockError> {
        let first = keys.first().map_or(&[][..], AsRef::as_ref);
        if let Ok(locked) = self.try_lock(first, keys).await? {
            return Ok(locked);
        }
        let deadline = Instant::now() + TRANSIT_WAIT;
        let mut changes = self.notify.subscribe();
        loop {
            // Tries again after subscribing, so that no notification is missed.
            changes.borrow_and_update();
            if let Ok(locked) = self.try_lock(first, keys).await? {
                return Ok(locked);
            }
            let notified = tokio::time::timeout_at(deadline, changes.changed()).await;
            if notified.is_err() {
                return Err(LockError::InTransit);
            }
        }
    }

    /// Like [`PartitionMap::lock`], but does not wait for a range in transit. For callers that already hold a lock: the
    /// split or merge of the range may be waiting for that lock.
    ///
    /// # Errors
    /// [`LockError`]; no key is locked.
    pub async fn lock_at_once<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Locked, LockError> {
        let first = keys.first().map_or(&[][..], AsRef::as_ref);
        let locked = self.try_lock(first, keys).await?;
        locked.map_err(|InTransit| LockError::InTransit)
    }

    async fn try_lock<K: AsRef<[u8]>>(
        &self,
        first: &[u8],
        keys: &[K],
    ) -> Result<Result<Locked, InTransit>, LockError> {
        let range = self.route(first)?.range;
        let bounds = range.bounds();
        // The range was found by the first key. Nearly every write has only that key.
        if keys
            .iter()
            .skip(1)
            .any(|key| !bounds.contains(key.as_ref()))
        {
            return Err(LockError::CrossRange);
        }
        Ok(range.lock(keys.iter().map(AsRef::as_ref)).await)
    }

    /// The ranges in key order.
    #[must_use]
    pub fn ranges(&self) -> Arc<Vec<Served>> {
        self.ranges.load_full()
    }

    /// Replaces the `old` ranges by `new`, as seen by readers at one instant. One caller at a time.
    pub(crate) fn replace(&self, old: &[Arc<Range>], new: Vec<Served>) -> Result<(), OverlapError> {
        let mut ranges = self.ranges.load_full().as_ref().clone();
        ranges.retain(|served| !old.iter().any(|gone| gone.id() == served.range.id()));
        ranges.extend(new);
        self.ranges.store(Arc::new(sorted(ranges)?));
        self.notify();
        Ok(())
    }

    /// Wakes writers that wait for a range in transit.
    pub(crate) fn notify(&self) {
        self.notify.send_replace(());
    }
}

impl Default for PartitionMap {
    /// A map without ranges.
    fn default() -> Self {
        Self {
            ranges: ArcSwap::default(),
            notify: watch::Sender::new(()),
        }
    }
}

fn sorted(mut ranges: Vec<Served>) -> Result<Vec<Served>, OverlapError> {
    ranges.sort_by(|a, b| a.start().cmp(b.start()));
    let ends_before = |a: &Served, b: &Served| a.end().is_some_and(|end| end <= b.start());
    let mut pairs = ranges.windows(2);
    if pairs.all(|pair| matches!(pair, [a, b] if ends_before(a, b))) {
        Ok(ranges)
    } else {
        Err(OverlapError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use partita_engine::memory::MemoryEngine;
    use partita_range::Bounds;

    fn served(id: u64, start: &'static str, end: Option<&'static str>) -> Served {
        let engine = Arc::new(MemoryEngine::new());
        let bounds = Bounds {
            start: start.into(),
            end: end.map(Bytes::from),
        };
        let range = Range::new(RangeId(id), bounds, engine, Arc::default());
        Served {
            epoch: Epoch(1),
            tenure: 0,
            range: Arc::new(range),
        }
    }

    fn three() -> PartitionMap {
        let ranges = vec![
            served(2, "m", Some("t")),
            served(1, "", Some("m")),
            served(3, "t", None),
        ];
        PartitionMap::new(ranges).unwrap()
    }

    #[test]
    fn each_key_has_one_range() {
        let map = three();
        let route = |key: &str| {
            let route = map.route(key.as_bytes()).unwrap();
            (route.range.id().0, route.end().cloned())
        };
        assert_eq!(route(""), (1, Some("m".into())));
        assert_eq!(route("lz"), (1, Some("m".into())));
        assert_eq!(route("m"), (2, Some("t".into())));
        assert_eq!(route("t"), (3, None));
        assert_eq!(route("zz"), (3, None));
    }

    #[test]
    fn overlaps_are_refused() {
        for ranges in [
            vec![served(1, "", None), served(2, "", None)],
            vec![served(1, "", Some("c")), served(2, "b", None)],
            vec![served(1, "b", None), served(2, "c", Some("d"))],
        ] {
            assert_eq!(PartitionMap::new(ranges).unwrap_err(), OverlapError);
        }
    }

    #[tokio::test]
    async fn keys_of_no_range_are_not_served() {
        let map = PartitionMap::new(vec![served(2, "m", Some("p")), served(1, "b", Some("d"))]);
        let map = map.unwrap();
        for key in ["", "a", "d", "lz", "p", "z"] {
            assert_eq!(map.route(key.as_bytes()).unwrap_err(), NotServed, "{key}");
            let refused = map.lock(&[key]).await.unwrap_err();
            assert_eq!(refused, LockError::NotServed(NotServed), "{key}");
        }
        for (key, range) in [("b", 1), ("cz", 1), ("m", 2), ("oz", 2)] {
            assert_eq!(map.route(key.as_bytes()).unwrap().range.id().0, range);
        }
        assert_eq!(PartitionMap::default().route(b"a").unwrap_err(), NotServed);
    }

    #[tokio::test(start_paused = true)]
    async fn a_write_waits_for_a_range_in_transit_for_a_limited_time() {
        let map = three();
        let old = map.route(b"n").unwrap().range;
        old.freeze().await;
        let began = Instant::now();
        let refused = map.lock_at_once(&["n"]).await;
        assert_eq!(refused.unwrap_err(), LockError::InTransit);
        assert_eq!(began.elapsed(), Duration::ZERO);
        assert_eq!(map.lock(&["n"]).await.unwrap_err(), LockError::InTransit);
        assert_eq!(began.elapsed(), TRANSIT_WAIT);

        let changing = async {
            tokio::time::sleep(TRANSIT_WAIT / 2).await;
            let new = vec![served(4, "m", Some("p")), served(5, "p", Some("t"))];
            map.replace(&[old], new).unwrap();
        };
        let (locked, ()) = tokio::join!(map.lock(&["n"]), changing);
        locked.unwrap();
        assert_eq!(map.route(b"n").unwrap().range.id(), RangeId(4));
    }

    #[tokio::test]
    async fn locking_keys_of_two_ranges_fails() {
        let map = three();
        assert!(map.lock(&["a", "b"]).await.is_ok());
        assert_eq!(
            map.lock(&["a", "n"]).await.unwrap_err(),
            LockError::CrossRange
        );
    }
}
