//! The counters of the current window, sharded by thread.
//!
//! Threads that count in different shards never write the same cache line. Each increment is one relaxed addition, and
//! closing the window swaps each counter for 0, so every increment is in exactly one window.

use super::latency::{Latency, Recorder};
use super::request::{Access, Request};
use super::window::Counts;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The number of shards. With more threads than shards, some threads share a shard and its cache lines; counts stay
/// exact.
const SHARDS: usize = 8;

static THREADS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// The shard of this thread; [`SHARDS`] before it has one.
    static SHARD: Cell<usize> = const { Cell::new(SHARDS) };
    /// The state of the random numbers of this thread.
    static DICE: Cell<u64> = const { Cell::new(0) };
}

/// Counters of all threads.
#[derive(Debug)]
pub(super) struct Counters {
    shards: Box<[Shard; SHARDS]>,
}

/// Counters of some threads, on separate cache lines (128 bytes, because processors fetch two lines together).
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Shard {
    counts: Counts<AtomicU64>,
    latency: Recorder,
}

impl Counters {
    pub(super) fn new() -> Self {
        Self {
            shards: Box::new(std::array::from_fn(|_| Shard::new())),
        }
    }

    /// The shard of this thread.
    pub(super) fn shard(&self) -> &Shard {
        if let Some(shard) = self.shards.get(SHARD.get()) {
            return shard;
        }
        let index = THREADS.fetch_add(1, Ordering::Relaxed) % SHARDS;
        SHARD.set(index);
        self.shards
            .get(index)
            .expect("the index is a remainder of the number of shards")
    }

    /// The counts of the current window so far.
    pub(super) fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for shard in self.shards.iter() {
            counts += shard.counts.map(|count| count.load(Ordering::Relaxed));
        }
        counts
    }

    /// Closes the window: returns the counts since the last call.
    pub(super) fn drain(&self) -> (Counts, Latency) {
        let (mut counts, mut latency) = (Counts::default(), Latency::new());
        for shard in self.shards.iter() {
            counts += shard.counts.map(|count| count.swap(0, Ordering::Relaxed));
            shard.latency.drain(&mut latency);
        }
        (counts, latency)
    }
}

impl Shard {
    fn new() -> Self {
        Self {
            counts: Counts::default(),
            latency: Recorder::new(),
        }
    }

    pub(super) fn add(&self, request: &Request<'_>) {
        let counts = &self.counts;
        let (requests, rows) = match request.access {
            Access::Throttled => {
                counts.throttled.fetch_add(1, Ordering::Relaxed);
                return;
            }
            Access::Read => (&counts.reads, &counts.rows_scanned),
            Access::Write | Access::Insert => (&counts.writes, &counts.rows_written),
        };
        requests.fetch_add(1, Ordering::Relaxed);
        rows.fetch_add(u64::from(request.rows), Ordering::Relaxed);
        // Most requests move bytes in one direction only.
        for (counter, bytes) in [
            (&counts.bytes_in, request.bytes_in),
            (&counts.bytes_out, request.bytes_out),
        ] {
            if bytes > 0 {
                counter.fetch_add(bytes, Ordering::Relaxed);
            }
        }
        self.latency.add(request.latency);
    }
}

/// The next pseudo-random number of this thread: `SplitMix64` by Steele, Lea and Flood. The n-th call returns the same
/// number in every thread.
pub(super) fn roll_dice() -> u64 {
    const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
    let next = DICE.get().wrapping_add(STEP);
    DICE.set(next);
    mix(next)
}

/// The output function of `SplitMix64`.
pub(super) const fn mix(state: u64) -> u64 {
    let mut word = state;
    word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;

    #[test]
    #[allow(clippy::disallowed_methods, reason = "the test needs real threads")]
    fn drain_loses_no_concurrent_counts() {
        const ADDED: u64 = 400_000;
        let (counters, done, start) = (Counters::new(), AtomicBool::new(false), Barrier::new(2));
        let mut sum = Counts::default();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let request = Request {
                    partition: b"p",
                    table_bytes: 0,
                    access: Access::Read,
                    rows: 1,
                    bytes_in: 1,
                    bytes_out: 1,
                    latency: Duration::ZERO,
                };
                start.wait();
                for _ in 0..ADDED {
                    counters.shard().add(&request);
                }
                done.store(true, Ordering::Release);
            });
            start.wait();
            while !done.load(Ordering::Acquire) {
                for shard in counters.shards.iter() {
                    sum += shard.counts.map(|count| count.swap(0, Ordering::Relaxed));
                }
            }
        });
        sum += counters.drain().0;
        let each = [sum.reads, sum.rows_scanned, sum.bytes_in, sum.bytes_out];
        assert_eq!(each, [ADDED; 4]);
    }
}
