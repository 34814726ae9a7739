//! The capacity of an admission queue, adapted so that admitted work completes within [`TARGET`] on any machine.
//!
//! The pipeline behind the queue serves in order of arrival, so each request waits for all earlier ones. On a fast disk
//! 8 MiB are durable in 80 ms, on a busy one in a second. So the capacity follows the duration of the work. After a
//! change, only work that began later counts for the next change.

use std::time::{Duration, Instant};

/// The intended wait after admission. The sync of a group takes some milliseconds, a small part of 40 ms, and clients
/// do not notice 40 ms under overload.
const TARGET: Duration = Duration::from_millis(40);

/// The largest capacity divided by this is the smallest capacity, and the step by which the capacity grows. The
/// smallest capacity admits a few transactions, or some hundred single rows.
const STEPS: u64 = 16;

/// The duration of admitted work.
#[derive(Debug, Clone, Copy)]
pub(super) struct WorkSample {
    pub(super) took: Duration,
    pub(super) ended: Instant,
}

/// Adapts a capacity.
#[derive(Debug, Default)]
pub(super) struct AdaptiveLimit {
    changed_at: Option<Instant>,
}

impl AdaptiveLimit {
    /// The next capacity, from the duration of some admitted work. The caller must call it only while requests wait: an
    /// idle queue says nothing about the limit.
    pub(super) fn capacity(&mut self, capacity: u64, max: u64, sample: WorkSample) -> u64 {
        // Ignores work that began before the last change, because its duration does not show the effect of the change.
        let began = sample.ended.checked_sub(sample.took);
        if self
            .changed_at
            .is_some_and(|at| began.is_none_or(|began| began < at))
        {
            return capacity;
        }
        let next = match sample.took {
            took if took > 2 * TARGET => capacity / 2,
            took if took > TARGET => capacity - capacity / 8,
            took if took < TARGET / 2 => capacity + max / STEPS,
            _ => return capacity,
        };
        self.changed_at = Some(sample.ended);
        next.clamp(max / STEPS, max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The capacity that is reached after a while on a disk of this speed, and how long admitted work then takes.
    fn settled(bytes_per_ms: u64) -> (u64, u64) {
        const MAX: u64 = 8 << 20;
        let (start, mut limit, mut capacity, mut now_ms) =
            (Instant::now(), AdaptiveLimit::default(), MAX, 0);
        for _ in 0..200 {
            let took_ms = capacity / bytes_per_ms + 1;
            now_ms += took_ms;
            let sample = WorkSample {
                took: Duration::from_millis(took_ms),
                ended: start + Duration::from_millis(now_ms),
            };
            capacity = limit.capacity(capacity, MAX, sample);
        }
        (capacity, capacity / bytes_per_ms + 1)
    }

    #[test]
    fn the_limit_converges_to_the_target_duration() {
        for megabytes_per_s in [30, 50, 100, 150] {
            let (capacity, took_ms) = settled(megabytes_per_s * 1_000);
            assert!(
                (20..=80).contains(&took_ms),
                "{megabytes_per_s} MB/s: {capacity}, {took_ms} ms"
            );
        }
    }

    #[test]
    fn the_limit_is_bounded() {
        assert_eq!(settled(1_000_000).0, 8 << 20);
        assert_eq!(settled(100).0, (8 << 20) / STEPS);
    }

    #[test]
    fn work_that_began_before_a_change_is_ignored() {
        let (start, mut limit) = (Instant::now(), AdaptiveLimit::default());
        let sample = |took_ms, ended_ms| WorkSample {
            took: Duration::from_millis(took_ms),
            ended: start + Duration::from_millis(ended_ms),
        };
        let less = limit.capacity(1 << 20, 1 << 20, sample(100, 100));
        assert_eq!(less, 1 << 19);
        assert_eq!(limit.capacity(less, 1 << 20, sample(150, 200)), less);
        assert_eq!(limit.capacity(less, 1 << 20, sample(100, 200)), less / 2);
    }
}
