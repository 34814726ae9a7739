//! A token bucket in whole numbers, without a clock and without rounding.
//!
//! The level is in billionths of a token, so that a nanosecond adds exactly the rate. A bucket holds the tokens of one
//! second: the documents of the Azure service state rates per second, and allow the service to throttle bursts.
//!
//! - A cost is known before the work (a write) or after it (a scan). In the latter case the level can fall below zero,
//!   and the next request waits until that debt is refilled.
//! - A request larger than the bucket is admitted when the bucket is full, and leaves a debt. Without this rule it
//!   would wait forever.
//! - So in any period at most `rate × period + burst` is admitted, plus the excess of one request.

use std::num::NonZeroU32;

const NANOS: i128 = 1_000_000_000;

/// The tokens left of one rate. The caller passes the rate each time, because settings can change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bucket {
    /// Billionths of a token; below zero is a debt.
    level: i64,
    /// The time of the level, in nanoseconds of the caller's clock.
    at: u64,
}

impl Bucket {
    /// A full bucket.
    pub(super) fn full(rate: NonZeroU32, now: u64) -> Self {
        Self {
            level: capacity(rate),
            at: now,
        }
    }

    /// Nanoseconds until a request of `cost` is admitted; 0 for now. A cost of zero waits for one token, because a debt
    /// must be refilled before any request proceeds.
    pub(super) fn wait(&mut self, rate: NonZeroU32, now: u64, cost: u64) -> u64 {
        self.refill(rate, now);
        let tokens = i128::from(cost.max(1)).min(i128::from(rate.get()));
        self.nanos_to(tokens * NANOS, rate)
    }

    /// Takes `cost`, even more than the level.
    pub(super) fn take(&mut self, rate: NonZeroU32, now: u64, cost: u64) {
        self.refill(rate, now);
        let cost = i64::try_from(i128::from(cost) * NANOS).unwrap_or(i64::MAX);
        self.level = self.level.saturating_sub(cost);
    }

    /// Whether the level is below zero.
    pub(super) const fn is_in_debt(&self) -> bool {
        self.level < 0
    }

    /// Nanoseconds until the bucket is full.
    pub(super) fn nanos_to_full(&mut self, rate: NonZeroU32, now: u64) -> u64 {
        self.refill(rate, now);
        self.nanos_to(i128::from(capacity(rate)), rate)
    }

    /// Nanoseconds until this level is reached. Rounded up, because a request that is a nanosecond early would be
    /// refused again.
    fn nanos_to(&self, level: i128, rate: NonZeroU32) -> u64 {
        let missing = (level - i128::from(self.level)).max(0) as u128;
        u64::try_from(missing.div_ceil(u128::from(rate.get()))).unwrap_or(u64::MAX)
    }

    fn refill(&mut self, rate: NonZeroU32, now: u64) {
        // Saturating, because threads read the clock before they take the lock, so a later call can have an earlier
        // time.
        let elapsed = now.saturating_sub(self.at);
        self.at = self.at.max(now);
        let level = i128::from(self.level) + i128::from(elapsed) * i128::from(rate.get());
        self.level = i64::try_from(level).map_or(capacity(rate), |level| level.min(capacity(rate)));
    }
}

/// The tokens of one second. No overflow: 2^32 times 10^9 is less than 2^63.
fn capacity(rate: NonZeroU32) -> i64 {
    i64::from(rate.get()) * NANOS as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rate(tokens: u32) -> NonZeroU32 {
        NonZeroU32::new(tokens).unwrap()
    }

    /// Requests each cost after its pause, and takes the costs that are admitted. Returns these with their times.
    fn admitted(rate: NonZeroU32, asked: &[(u64, u64)]) -> Vec<(u64, u64)> {
        let (mut bucket, mut now, mut let_in) = (Bucket::full(rate, 0), 0, Vec::new());
        for &(pause, cost) in asked {
            now += pause;
            if bucket.wait(rate, now, cost) == 0 {
                bucket.take(rate, now, cost);
                let_in.push((now, cost));
            }
        }
        let_in
    }

    proptest! {
        #[test]
        fn no_period_admits_more_than_rate_and_burst(
            tokens in 1_u32..5_000,
            asked in prop::collection::vec((0_u64..400_000_000, 1_u64..200), 1..120),
        ) {
            let rate = rate(tokens);
            let let_in = admitted(rate, &asked);
            let excess = let_in.iter().map(|(_, cost)| cost.saturating_sub(u64::from(tokens)));
            let excess = u128::from(excess.max().unwrap_or(0));
            for (first, &(from, _)) in let_in.iter().enumerate() {
                let mut sum = 0;
                for &(until, cost) in &let_in[first..] {
                    sum += u128::from(cost);
                    let refilled = u128::from(tokens) * u128::from(until - from) / 1_000_000_000;
                    let bound = u128::from(tokens) + refilled + excess;
                    prop_assert!(sum <= bound, "{sum} of {bound} in {} ns", until - from);
                }
            }
        }

        #[test]
        fn the_wait_is_exact(
            tokens in 1_u32..=u32::MAX,
            taken in prop::collection::vec((0_u64..2_000_000_000, 0_u64..10_000_000_000), 0..20),
            cost in 0_u64..10_000_000_000,
        ) {
            let (rate, mut now) = (rate(tokens), 0);
            let mut bucket = Bucket::full(rate, now);
            for (pause, cost) in taken {
                now += pause;
                bucket.take(rate, now, cost);
            }
            let wait = bucket.wait(rate, now, cost);
            prop_assert!(wait < u64::MAX / 2, "no wait is endless");
            prop_assert_eq!(bucket.clone().wait(rate, now + wait, cost), 0);
            if wait > 0 {
                prop_assert!(bucket.clone().wait(rate, now + wait - 1, cost) > 0);
            }
        }

        #[test]
        fn frequent_reads_do_not_change_the_level(
            tokens in 1_u32..=u32::MAX,
            debt in 0_u64..1_000_000_000,
            pauses in prop::collection::vec(0_u64..100_000_000, 1..50),
        ) {
            let rate = rate(tokens);
            let mut often = Bucket::full(rate, 0);
            often.take(rate, 0, debt);
            let mut once = often;
            let mut now = 0;
            for pause in pauses {
                now += pause;
                often.wait(rate, now, 1);
            }
            once.wait(rate, now, 1);
            prop_assert_eq!(often, once);
        }
    }

    #[test]
    fn a_bucket_fills_in_one_second() {
        let rate = rate(500);
        let mut bucket = Bucket::full(rate, 0);
        bucket.take(rate, 0, 500);
        assert_eq!(
            bucket.wait(rate, 0, 1),
            2_000_000,
            "500 a second is one in 2 ms"
        );
        assert_eq!(bucket.nanos_to_full(rate, 999_999_999), 1);
        assert_eq!(bucket.nanos_to_full(rate, 1_000_000_000), 0);
        assert_eq!(
            bucket.wait(rate, u64::MAX, 501),
            0,
            "a full bucket admits a larger request"
        );
        bucket.take(rate, u64::MAX, 501);
        assert!(bucket.is_in_debt());
    }

    #[test]
    fn an_earlier_time_refills_nothing() {
        let rate = rate(1_000);
        let mut bucket = Bucket::full(rate, 5_000_000);
        bucket.take(rate, 5_000_000, 1_000);
        bucket.wait(rate, 6_000_000, 1);
        let before = bucket;
        bucket.wait(rate, 1_000_000, 1);
        assert_eq!(bucket, before);
    }
}
