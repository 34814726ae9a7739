//! Locks by key: a write takes the locks of its entities before it reads them and holds them until it is durable.
//!
//! A key is locked by its 64-bit hash; writers of two keys with the same hash only wait for each other. A holder takes
//! its locks in the order of the hashes, so holders of several locks cannot deadlock. Waiters of a key are served in
//! order of arrival.
//!
//! Invariants:
//! - an entry is in the table exactly while its lock is held;
//! - a lock granted to a dropped waiter passes to the next waiter: dropping a future at any await leaks no lock.

use foldhash::quality::FixedState;
use parking_lot::Mutex;
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::collections::hash_map::{Entry, HashMap};
use std::hash::BuildHasher;
use std::sync::Arc;
use tokio::sync::oneshot;

/// A power of two: enough shards that writers rarely contend for a mutex, few enough that all stay in the processor's
/// cache.
const SHARDS: usize = 64;

type KeyHash = u64;
type Waiters = VecDeque<oneshot::Sender<()>>;

/// The keys of the map are already hashes, so a fast hash function of low quality is enough.
type Shard = Mutex<HashMap<KeyHash, Waiters, foldhash::fast::FixedState>>;

/// The locks of one range.
#[derive(Debug)]
pub(crate) struct LockTable {
    shards: Box<[Shard]>,
    hasher: FixedState,
}

impl LockTable {
    pub(crate) fn new() -> Arc<Self> {
        let shards = (0..SHARDS).map(|_| Shard::default()).collect();
        Arc::new(Self {
            shards,
            hasher: FixedState::default(),
        })
    }

    /// Takes the locks of all keys, waiting for other holders. Cancel safe: a dropped call holds no locks.
    pub(crate) async fn lock<'k>(self: &Arc<Self>, keys: impl Iterator<Item = &'k [u8]>) -> Locks {
        let mut hashes: SmallVec<[KeyHash; 2]> =
            keys.map(|key| self.hasher.hash_one(key)).collect();
        hashes.sort_unstable();
        hashes.dedup();
        let mut locks = Locks {
            table: Arc::clone(self),
            held: SmallVec::with_capacity(hashes.len()),
        };
        for hash in hashes {
            if let Some(mut waiter) = self.take_or_queue(hash) {
                waiter.wait().await;
            }
            locks.held.push(hash);
        }
        locks
    }

    /// Whether a key is locked now, or another one with the same hash.
    pub(crate) fn is_held(&self, key: &[u8]) -> bool {
        let hash = self.hasher.hash_one(key);
        self.shard(hash).lock().contains_key(&hash)
    }

    fn shard(&self, hash: KeyHash) -> &Shard {
        &self.shards[hash as usize % SHARDS]
    }

    /// Takes a free lock, or queues for a held lock.
    fn take_or_queue(self: &Arc<Self>, hash: KeyHash) -> Option<Waiter> {
        match self.shard(hash).lock().entry(hash) {
            Entry::Vacant(free) => {
                free.insert(Waiters::new());
                None
            }
            Entry::Occupied(mut held) => {
                let (turn, receiver) = oneshot::channel();
                held.get_mut().push_back(turn);
                Some(Waiter {
                    table: Arc::clone(self),
                    hash,
                    receiver: Some(receiver),
                })
            }
        }
    }

    /// Grants a lock to the first live waiter, or frees it.
    fn release(&self, hash: KeyHash) {
        let mut shard = self.shard(hash).lock();
        let Entry::Occupied(mut held) = shard.entry(hash) else {
            return;
        };
        while let Some(turn) = held.get_mut().pop_front() {
            if turn.send(()).is_ok() {
                return;
            }
        }
        held.remove();
    }
}

/// A waiter in the queue of one lock.
struct Waiter {
    table: Arc<LockTable>,
    hash: KeyHash,
    /// Notified when the lock is granted; `None` after that.
    receiver: Option<oneshot::Receiver<()>>,
}

impl Waiter {
    async fn wait(&mut self) {
        if let Some(receiver) = &mut self.receiver {
            // Cannot fail: the table outlives its waiters and drops a sender only after using it.
            let _ = receiver.await;
        }
        self.receiver = None;
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        if let Some(mut receiver) = self.receiver.take() {
            receiver.close();
            if receiver.try_recv().is_ok() {
                self.table.release(self.hash);
            }
        }
    }
}

/// Held locks. Dropping this value releases them.
#[derive(Debug)]
pub(crate) struct Locks {
    table: Arc<LockTable>,
    held: SmallVec<[KeyHash; 2]>,
}

impl Drop for Locks {
    fn drop(&mut self) {
        for &hash in &self.held {
            self.table.release(hash);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    impl LockTable {
        fn held_count(&self) -> usize {
            self.shards.iter().map(|shard| shard.lock().len()).sum()
        }
    }

    fn poll_once<F: Future>(future: std::pin::Pin<&mut F>) -> bool {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        future.poll(&mut context).is_ready()
    }

    #[tokio::test]
    async fn a_lock_passes_from_holder_to_waiter_in_order() {
        let table = LockTable::new();
        let first = table.lock([b"a".as_slice()].into_iter()).await;
        let mut second = Box::pin(table.lock([b"a".as_slice()].into_iter()));
        let mut third = Box::pin(table.lock([b"a".as_slice()].into_iter()));
        assert!(!poll_once(second.as_mut()) && !poll_once(third.as_mut()));
        drop(first);
        assert!(
            !poll_once(third.as_mut()),
            "the waiters get the lock in their order"
        );
        drop(second.await);
        drop(third.await);
        assert_eq!(table.held_count(), 0);
    }

    #[tokio::test]
    async fn a_dropped_waiter_passes_the_lock_to_the_next() {
        let table = LockTable::new();
        let first = table.lock([b"a".as_slice()].into_iter()).await;
        let mut leaver = Box::pin(table.lock([b"a".as_slice(), b"b"].into_iter()));
        let mut stayer = Box::pin(table.lock([b"a".as_slice()].into_iter()));
        assert!(!poll_once(leaver.as_mut()) && !poll_once(stayer.as_mut()));
        drop(first);
        // `leaver` now has the lock, but is dropped before it is polled again.
        drop(leaver);
        drop(stayer.await);
        assert_eq!(table.held_count(), 0);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn holders_of_several_locks_do_not_deadlock() {
        let table = LockTable::new();
        let cells: Arc<Vec<AtomicU64>> = Arc::new((0..8).map(|_| AtomicU64::new(0)).collect());
        let workers = (0..8_u64).map(|worker| {
            let (table, cells) = (Arc::clone(&table), Arc::clone(&cells));
            async move {
                let mut state = worker + 1;
                for _ in 0..500 {
                    state = state
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1);
                    let picks = [(state >> 33) % 8, (state >> 43) % 8, (state >> 53) % 8];
                    let keys: Vec<[u8; 8]> = picks.iter().map(|pick| pick.to_be_bytes()).collect();
                    let locks = table.lock(keys.iter().map(<[u8; 8]>::as_slice)).await;
                    let mut seen = std::collections::BTreeSet::new();
                    for &pick in picks.iter().filter(|&&pick| seen.insert(pick)) {
                        let cell = &cells[pick as usize];
                        // The value is loaded and stored in two steps, so that without the lock updates would be lost.
                        let value = cell.load(Ordering::Relaxed);
                        tokio::task::yield_now().await;
                        cell.store(value + 1, Ordering::Relaxed);
                    }
                    drop(locks);
                }
            }
        });
        let mut running: tokio::task::JoinSet<()> = workers.collect();
        while let Some(ended) = running.join_next().await {
            ended.unwrap();
        }
        assert_eq!(table.held_count(), 0);
        let total: u64 = cells.iter().map(|cell| cell.load(Ordering::Relaxed)).sum();
        let expected: u64 = (0..8_u64)
            .map(|worker| {
                let mut state = worker + 1;
                (0..500)
                    .map(|_| {
                        state = state
                            .wrapping_mul(6_364_136_223_846_793_005)
                            .wrapping_add(1);
                        let picks = [(state >> 33) % 8, (state >> 43) % 8, (state >> 53) % 8];
                        picks
                            .iter()
                            .collect::<std::collections::BTreeSet<_>>()
                            .len() as u64
                    })
                    .sum::<u64>()
            })
            .sum();
        assert_eq!(total, expected);
    }
}
