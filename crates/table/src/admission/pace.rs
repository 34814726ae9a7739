//! How much to let in at a time, when there is more: what is done within [`TARGET`], whatever the machine.
//!
//! What stands behind a turnstile serves in order of arrival, so everybody waits for all that was let in. On a fast disk 8 MiB
//! are durable in 80 ms, on a busy one it may take a second. So the turnstile looks how long the work takes, at most once in
//! that time, and lets in less or more.

use std::time::{Duration, Instant};

/// What a request shall wait behind the turnstile. A group of the commit loop takes a few milliseconds for its sync: with 40, that
/// is a small part, and 40 ms is nothing that a client would notice beside a crowd.
const TARGET: Duration = Duration::from_millis(40);

/// The least that is let in, as a part of the most: a few transactions, or some hundred single rows.
const PARTS: u64 = 16;

/// How long something took.
#[derive(Debug, Clone, Copy)]
pub(super) struct Work {
    pub(super) took: Duration,
    pub(super) ended: Instant,
}

/// When it was looked at last.
#[derive(Debug, Default)]
pub(super) struct Pace {
    looked_at: Option<Instant>,
}

impl Pace {
    /// What to let in from now on, when somebody waits.
    pub(super) fn capacity(&mut self, capacity: u64, max: u64, work: Work) -> u64 {
        // Work of before the last change says nothing of it.
        let began = work.ended.checked_sub(work.took);
        if self
            .looked_at
            .is_some_and(|at| began.is_none_or(|began| began < at))
        {
            return capacity;
        }
        let next = match work.took {
            took if took > 2 * TARGET => capacity / 2,
            took if took > TARGET => capacity - capacity / 8,
            took if took < TARGET / 2 => capacity + max / PARTS,
            _ => return capacity,
        };
        self.looked_at = Some(work.ended);
        next.clamp(max / PARTS, max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is let in after a while at a disk that writes so many bytes in a millisecond, and how long it then takes.
    fn settled(bytes_per_ms: u64) -> (u64, u64) {
        const MAX: u64 = 8 << 20;
        let (start, mut pace, mut capacity, mut now_ms) = (Instant::now(), Pace::default(), MAX, 0);
        for _ in 0..200 {
            let took_ms = capacity / bytes_per_ms + 1;
            now_ms += took_ms;
            let work = Work {
                took: Duration::from_millis(took_ms),
                ended: start + Duration::from_millis(now_ms),
            };
            capacity = pace.capacity(capacity, MAX, work);
        }
        (capacity, capacity / bytes_per_ms + 1)
    }

    #[test]
    fn it_settles_where_work_takes_about_the_target() {
        for megabytes_per_s in [30, 50, 100, 150] {
            let (capacity, took_ms) = settled(megabytes_per_s * 1_000);
            assert!(
                (20..=80).contains(&took_ms),
                "{megabytes_per_s} MB/s: {capacity}, {took_ms} ms"
            );
        }
    }

    #[test]
    fn it_has_bounds() {
        assert_eq!(settled(1_000_000).0, 8 << 20);
        assert_eq!(settled(100).0, (8 << 20) / PARTS);
    }

    #[test]
    fn work_that_began_before_a_change_says_nothing_of_it() {
        let (start, mut pace) = (Instant::now(), Pace::default());
        let work = |took_ms, ended_ms| Work {
            took: Duration::from_millis(took_ms),
            ended: start + Duration::from_millis(ended_ms),
        };
        let less = pace.capacity(1 << 20, 1 << 20, work(100, 100));
        assert_eq!(less, 1 << 19);
        assert_eq!(pace.capacity(less, 1 << 20, work(150, 200)), less);
        assert_eq!(pace.capacity(less, 1 << 20, work(100, 200)), less / 2);
    }
}
