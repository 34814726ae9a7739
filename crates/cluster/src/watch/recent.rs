//! The load of the ranges of this process between two questions of the manager of a cluster.
//!
//! The manager asks every two seconds, so that a hot range is found soon. The windows of the heat history are five times
//! as long; they are not closed for this.

use crate::balance::{Observed, SplitPoint, cores};
use crate::host::LocalHost;
use crate::map::Served;
use parking_lot::Mutex;
use partita_heat::Counts;
use partita_range::RangeId;
use partita_rt::Clock;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// A second question within this time gets the answer of the first: its load would be of too few requests.
const AGAIN: Duration = Duration::from_millis(500);
/// A range with fewer requests a second has no split point: it is not hot, and finding one takes up to a millisecond.
const SPLIT_POINT_RATE: f64 = 100.0;

/// The load since the last question.
#[derive(Debug, Default)]
pub(crate) struct RecentLoad(Mutex<Option<Reading>>);

/// The answer to a question.
#[derive(Debug)]
struct Reading {
    at: Instant,
    /// The processor time of the process.
    used: Duration,
    /// The counts of each range since it is served here.
    totals: HashMap<RangeId, Counts>,
    observed: Vec<Observed>,
}

impl RecentLoad {
    /// The observations of the served ranges since the last question, in key order. None at the first question, which
    /// only begins to count.
    pub(super) fn observe(&self, host: &LocalHost, clock: &dyn Clock) -> Vec<Observed> {
        let (now, used) = (clock.monotonic(), clock.processor());
        let mut last = self.0.lock();
        let before = last.as_ref();
        if let Some(before) = before.filter(|before| now < before.at + AGAIN) {
            return before.observed.clone();
        }
        let ranges = host.map().ranges();
        let totals = ranges
            .iter()
            .map(|served| (served.range.id(), served.range.heat().total()));
        let totals: HashMap<RangeId, Counts> = totals.collect();
        let observed = before.map_or_else(Vec::new, |before| {
            before.since(now, used, &totals, ranges.iter())
        });
        *last = Some(Reading {
            at: now,
            used,
            totals,
            observed: observed.clone(),
        });
        observed
    }
}

impl Reading {
    /// The observations since this reading.
    fn since<'a>(
        &self,
        now: Instant,
        used: Duration,
        totals: &HashMap<RangeId, Counts>,
        ranges: impl Iterator<Item = &'a Served>,
    ) -> Vec<Observed> {
        let elapsed = now.saturating_duration_since(self.at);
        let busy = used.saturating_sub(self.used).as_secs_f64() / elapsed.as_secs_f64();
        let of = |id: RangeId| {
            let now = totals.get(&id).copied().unwrap_or_default();
            // A range that came in between has all its counts since then.
            let before = self.totals.get(&id).copied().unwrap_or_default();
            now.since(&before)
        };
        let all = totals.keys().map(|id| of(*id).load()).sum::<u64>();
        let observed = ranges.map(|served| {
            let (range, layout) = (&served.range, served.range.engine().file_layout());
            let counts = of(range.id());
            // A range that was made in between has had less time.
            let age = now.saturating_duration_since(range.heat().began());
            let elapsed = elapsed.min(age.max(AGAIN));
            let rate = counts.requests() as f64 / elapsed.as_secs_f64();
            Observed {
                id: range.id(),
                bytes: layout.bytes,
                rate,
                cores: cores(&counts, elapsed, all, busy),
                split_point: match rate < SPLIT_POINT_RATE {
                    true => SplitPoint::Unknown,
                    false => SplitPoint::of(range),
                },
                detaching: layout.sources > 0,
            }
        });
        observed.collect()
    }
}
