//! How long the steps of take-overs took, for metrics.

use parking_lot::Mutex;
use partita_engine::Distribution;
use std::time::Duration;

/// The number of buckets: one for each power of two of microseconds up to half an hour.
const BUCKETS: usize = 32;

/// A step of a take-over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TakeOverStep {
    /// The logs are sealed and replayed, and the database is opened and flushed.
    Open,
    /// The registry records the tenure.
    Activate,
}

impl TakeOverStep {
    /// The steps, in their order.
    pub const ALL: [Self; 2] = [Self::Open, Self::Activate];

    /// The name of the step.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Activate => "activate",
        }
    }
}

/// The times of all take-overs since the start, in microseconds, by step.
#[derive(Debug, Default)]
pub struct TakeOverTimes([Mutex<Distribution>; TakeOverStep::ALL.len()]);

impl TakeOverTimes {
    pub(super) fn add(&self, step: TakeOverStep, time: Duration) {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        // The first bucket whose bound, a power of two, is not below the value.
        let bucket = (u64::BITS - micros.saturating_sub(1).leading_zeros()) as usize;
        let mut times = self.0[step as usize].lock();
        times.buckets.resize(BUCKETS, 0);
        if let Some(count) = times.buckets.get_mut(bucket.min(BUCKETS - 1)) {
            *count += 1;
        }
        times.count += 1;
        times.sum = times.sum.saturating_add(micros);
    }

    /// The times of each step.
    #[must_use]
    pub fn read(&self) -> [(TakeOverStep, Distribution); TakeOverStep::ALL.len()] {
        TakeOverStep::ALL.map(|step| (step, self.0[step as usize].lock().clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_counted_by_step_and_power_of_two() {
        let times = TakeOverTimes::default();
        for micros in [1, 2, 3, 1_000] {
            times.add(TakeOverStep::Open, Duration::from_micros(micros));
        }
        times.add(TakeOverStep::Activate, Duration::MAX);
        let [(_, open), (_, activate)] = times.read();
        assert_eq!((open.count, open.sum), (4, 1_006));
        let counted = |seen: &Distribution| {
            let buckets = seen.buckets.iter().enumerate();
            let counted = buckets.filter(|(_, count)| **count > 0);
            counted
                .map(|(bucket, count)| (Distribution::bound(bucket), *count))
                .collect::<Vec<_>>()
        };
        assert_eq!(counted(&open), [(1, 1), (2, 1), (4, 1), (1_024, 1)]);
        assert_eq!(counted(&activate), [(Distribution::bound(31), 1)]);
    }
}
