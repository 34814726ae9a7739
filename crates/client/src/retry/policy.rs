//! Retry policies: how many retries, and the wait before each.

use std::time::Duration;

/// How often a failed attempt is retried, and the wait before each retry. Every combination of values is valid.
///
/// | policy | wait before retry x, from 1 |
/// | --- | --- |
/// | [`RetryPolicy::None`] | – |
/// | [`RetryPolicy::Fixed`] | `wait` |
/// | [`RetryPolicy::Exponential`] | the lesser of `max` and `min + wait × r × (2^x − 1)`, with a random `r` between 0.8 and 1.2 |
///
/// The first storage client libraries used the same exponential formula.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RetryPolicy {
    /// No retries.
    None,
    /// A constant wait before each retry.
    Fixed {
        /// The maximum number of retries of one request.
        retries: u32,
        /// The wait before each retry.
        wait: Duration,
    },
    /// Waits that about double, with 20 % jitter.
    Exponential {
        /// The maximum number of retries of one request.
        retries: u32,
        /// The factor of the exponential term.
        wait: Duration,
        /// The shortest wait, which is added to the exponential term.
        min: Duration,
        /// The longest wait.
        max: Duration,
    },
}

impl RetryPolicy {
    /// The default: four retries within 9 to 13 s (waits of about 0.5, 1.3, 2.9 and 6.1 s). They outlast a failover of
    /// several seconds, and a short failure costs little.
    pub const MODERN: Self = Self::Exponential {
        retries: 4,
        wait: Duration::from_millis(400),
        min: Duration::from_millis(100),
        max: Duration::from_secs(30),
    };

    /// The defaults of the first storage client libraries: three retries, a factor of 30 s, waits of 3 s to 90 s.
    pub const ORIGINAL: Self = Self::Exponential {
        retries: 3,
        wait: Duration::from_secs(30),
        min: Duration::from_secs(3),
        max: Duration::from_secs(90),
    };

    /// The maximum number of retries of one request.
    #[must_use]
    pub const fn retries(&self) -> u32 {
        match *self {
            Self::None => 0,
            Self::Fixed { retries, .. } | Self::Exponential { retries, .. } => retries,
        }
    }

    /// The wait after the attempt number `tries`, counted from 1. `spread` selects the jitter: 0.0 the shortest wait,
    /// 1.0 the longest; values outside are clamped. [`Self::retries`] does not affect the result.
    #[must_use]
    pub fn wait(&self, tries: u32, spread: f64) -> Duration {
        match *self {
            Self::None => Duration::ZERO,
            Self::Fixed { wait, .. } => wait,
            Self::Exponential { wait, min, max, .. } => {
                let jittered = wait.as_secs_f64() * (0.8 + 0.4 * spread.clamp(0.0, 1.0));
                let term = jittered * (f64::from(tries).exp2() - 1.0);
                // An exponential term that overflows a `Duration` exceeds `max` anyway.
                let term = Duration::try_from_secs_f64(term).unwrap_or(Duration::MAX);
                min.saturating_add(term).min(max)
            }
        }
    }
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self::MODERN
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bounds_ms(policy: RetryPolicy, tries: u32) -> [u128; 2] {
        [0.0, 1.0].map(|spread| policy.wait(tries, spread).as_millis())
    }

    #[test]
    fn waits_follow_the_formula() {
        for (policy, tries, expected) in [
            // 3 s + (0.8 … 1.2) × 30 s × (2^x − 1), at most 90 s.
            (RetryPolicy::ORIGINAL, 1, [27_000, 39_000]),
            (RetryPolicy::ORIGINAL, 2, [75_000, 90_000]),
            (RetryPolicy::ORIGINAL, 3, [90_000, 90_000]),
            (RetryPolicy::ORIGINAL, 64, [90_000, 90_000]),
            (RetryPolicy::ORIGINAL, u32::MAX, [90_000, 90_000]),
            // 100 ms + (0.8 … 1.2) × 400 ms × (2^x − 1), at most 30 s.
            (RetryPolicy::MODERN, 1, [420, 580]),
            (RetryPolicy::MODERN, 2, [1_060, 1_540]),
            (RetryPolicy::MODERN, 3, [2_340, 3_460]),
            (RetryPolicy::MODERN, 4, [4_900, 7_300]),
            (RetryPolicy::MODERN, 9, [30_000, 30_000]),
        ] {
            assert_eq!(bounds_ms(policy, tries), expected, "{policy:?} {tries}");
        }
        let fixed = RetryPolicy::Fixed {
            retries: 3,
            wait: Duration::from_millis(70),
        };
        assert_eq!(bounds_ms(fixed, 1), [70, 70]);
        assert_eq!(bounds_ms(fixed, 3), [70, 70]);
        assert_eq!(bounds_ms(RetryPolicy::None, 1), [0, 0]);
    }

    #[test]
    fn attempt_zero_has_the_shortest_wait() {
        assert_eq!(bounds_ms(RetryPolicy::ORIGINAL, 0), [3_000, 3_000]);
    }

    proptest! {
        #[test]
        fn waits_are_within_the_bounds_and_grow(tries in 1..40_u32, spread in 0.0..=1.0, z in 0..10_000_u64, low in 0..10_000_u64, more in 0..100_000_u64) {
            let (min, max) = (Duration::from_millis(low), Duration::from_millis(low + more));
            let policy = RetryPolicy::Exponential { retries: 3, wait: Duration::from_millis(z), min, max };
            let wait = policy.wait(tries, spread);
            prop_assert!(policy.wait(tries, 0.0) <= wait && wait <= policy.wait(tries, 1.0));
            prop_assert!(min <= wait && wait <= max);
            prop_assert!(policy.wait(tries, 0.5) <= policy.wait(tries + 1, 0.5));
        }
    }
}
