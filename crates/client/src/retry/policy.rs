//! How long to wait before the next attempt.

use std::time::Duration;

/// How often and after what waits a failed attempt is tried again.
///
/// | policy | wait before attempt x + 1 |
/// | --- | --- |
/// | [`RetryPolicy::None`] | – |
/// | [`RetryPolicy::Fixed`] | `wait` |
/// | [`RetryPolicy::Exponential`] | `min(min + y, max)`, with `y` = random between 0.8 and 1.2 `wait`, × (2^x − 1) |
///
/// The exponential formula is that of the first storage client libraries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryPolicy {
    /// Never.
    None,
    /// So many times, after a constant wait.
    Fixed {
        /// Attempts after the first one.
        retries: u32,
        /// Before each of them.
        wait: Duration,
    },
    /// So many times, after waits that about double.
    Exponential {
        /// Attempts after the first one.
        retries: u32,
        /// The default wait, z.
        wait: Duration,
        /// The shortest, z_min, which is added to every one.
        min: Duration,
        /// The longest, z_max.
        max: Duration,
    },
}

impl RetryPolicy {
    /// What services of today want: four retries within 9 to 13 s (about 0.5, 1.3, 2.9 and 6.1 s), so that a failover of four
    /// seconds passes unseen, and a short hiccup costs little.
    pub const MODERN: Self = Self::Exponential {
        retries: 4,
        wait: Duration::from_millis(400),
        min: Duration::from_millis(100),
        max: Duration::from_secs(30),
    };

    /// The defaults of the original description: z = 30 s, z_min = 3 s, z_max = 90 s, and the three retries of the first
    /// client libraries.
    pub const ORIGINAL: Self = Self::Exponential {
        retries: 3,
        wait: Duration::from_secs(30),
        min: Duration::from_secs(3),
        max: Duration::from_secs(90),
    };

    /// Attempts after the first one.
    #[must_use]
    pub const fn retries(&self) -> u32 {
        match *self {
            Self::None => 0,
            Self::Fixed { retries, .. } | Self::Exponential { retries, .. } => retries,
        }
    }

    /// The wait after so many tries (from 1), for a place `spread` in the random interval: 0 its low end, 1 its high one.
    /// Without regard to [`Self::retries`].
    #[must_use]
    pub fn wait(&self, tries: u32, spread: f64) -> Duration {
        match *self {
            Self::None => Duration::ZERO,
            Self::Fixed { wait, .. } => wait,
            Self::Exponential { wait, min, max, .. } => {
                let z = wait.as_secs_f64() * (0.8 + 0.4 * spread.clamp(0.0, 1.0));
                let y = z * (f64::from(tries).exp2() - 1.0);
                // Past what a duration can hold, the longest wait is shorter anyway.
                let y = Duration::try_from_secs_f64(y).unwrap_or(Duration::MAX);
                min.saturating_add(y).min(max)
            }
        }
    }

    /// The wait after so many tries, at random.
    pub(crate) fn random_wait(&self, tries: u32) -> Duration {
        self.wait(tries, fastrand::f64())
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
    fn bounds_of_the_formula() {
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
    fn before_the_first_try_only_the_shortest_wait_counts() {
        assert_eq!(bounds_ms(RetryPolicy::ORIGINAL, 0), [3_000, 3_000]);
    }

    proptest! {
        #[test]
        fn waits_are_within_the_bounds_and_grow(tries in 1..40_u32, z in 0..10_000_u64, low in 0..10_000_u64, more in 0..100_000_u64) {
            let (min, max) = (Duration::from_millis(low), Duration::from_millis(low + more));
            let policy = RetryPolicy::Exponential { retries: 3, wait: Duration::from_millis(z), min, max };
            let wait = policy.random_wait(tries);
            prop_assert!(policy.wait(tries, 0.0) <= wait && wait <= policy.wait(tries, 1.0));
            prop_assert!(min <= wait && wait <= max);
            prop_assert!(policy.wait(tries, 0.5) <= policy.wait(tries + 1, 0.5));
        }
    }
}
