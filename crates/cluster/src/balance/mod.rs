//! Decides when to split or merge ranges, from their sizes and loads: pure functions, so that a test can simulate
//! hours.
//!
//! - **Split by size** when the files of a range exceed [`BalanceSettings::split_bytes`].
//! - **Split by load**, if [`BalanceSettings::by_load`] is set, when requests stay above
//!   [`BalanceSettings::split_rate`], or their processor time above [`BalanceSettings::split_cores`], for
//!   [`BalanceSettings::hot_for`], and a split key that divides the load was found. A range whose load is in a single
//!   partition has no split key: it is counted and shown in the metrics, but not split. A range with too few observed
//!   requests is not split either.
//! - **Merge** two neighbours if both stayed below a quarter of all triggers for [`BalanceSettings::cold_for`].
//!
//! The balancer does not oscillate: it takes one action per round; it does not split a new range by load during the
//! range's cool-down; and merged ranges have at most half of the size and load that triggers a split.

mod cores;

pub(crate) use cores::cores;

use bytes::Bytes;
use partita_range::RangeId;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// The triggers of splits and merges.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BalanceSettings {
    /// A range is split when its files have more bytes than this.
    pub split_bytes: u64,
    /// A range with more requests per second than this is hot.
    pub split_rate: f64,
    /// A range whose requests use more processors than this is hot too; 1.0 is one processor.
    pub split_cores: f64,
    /// Whether hot ranges are split if that divides their load. This has no benefit while one process serves all
    /// ranges.
    pub by_load: bool,
    /// How long a range must be hot before it is split.
    pub hot_for: Duration,
    /// How long two neighbours must be below a quarter of all triggers before they are merged.
    pub cold_for: Duration,
    /// How long a range is not split by load after the balancer first sees it, and how long its ranges are left alone
    /// after a failed change.
    pub cool_down: Duration,
    /// The balancer splits no range while there are at least this many ranges for each server.
    pub ranges_max: usize,
}

impl Default for BalanceSettings {
    /// Splits at 8 GiB. A range is hot at 5,000 requests a second or half a processor for 10 s; hot ranges are not
    /// split. Merges after an hour, cool-down of a minute, 64 ranges for each server.
    fn default() -> Self {
        Self {
            split_bytes: 8 << 30,
            split_rate: 5_000.0,
            split_cores: 0.5,
            by_load: false,
            hot_for: Duration::from_secs(10),
            cold_for: Duration::from_secs(3_600),
            cool_down: Duration::from_secs(60),
            ranges_max: 64,
        }
    }
}

/// The observations of a range in one round.
#[derive(Debug, Clone, PartialEq)]
pub struct Observed {
    /// The id of the range.
    pub id: RangeId,
    /// The bytes of its files.
    pub bytes: u64,
    /// The requests per second in the last window.
    pub rate: f64,
    /// The processors that these requests used, without background work.
    pub cores: f64,
    /// The key at which a split would divide its load.
    pub split_point: SplitPoint,
    /// Whether it is still copying files that it shares with other databases. The balancer does not change such a
    /// range.
    pub detaching: bool,
}

/// The key at which a split would divide the load of a range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SplitPoint {
    /// Before this key.
    At(Bytes),
    /// No key divides the load: most of it is in a single partition or at the growing end of a table.
    None,
    /// Unknown: too little load was observed.
    Unknown,
}

/// A decision of the balancer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BalanceAction {
    /// Split in the middle of its bytes.
    SplitBySize(RangeId),
    /// Split at the key that divides its load.
    SplitByLoad(RangeId, Bytes),
    /// Merge a range with the next range.
    Merge(RangeId, RangeId),
}

/// Decides on splits and merges in rounds.
#[derive(Debug)]
pub struct Balancer {
    settings: BalanceSettings,
    known: HashMap<RangeId, History>,
    no_split_key: u64,
}

/// The observations of a range.
#[derive(Debug, Clone, Copy)]
struct History {
    /// The time of the first observation.
    seen: Instant,
    /// The start of the current hot phase.
    hot: Option<Instant>,
    /// The start of the current cold phase.
    cold: Option<Instant>,
    /// Whether the current hot phase is already in the count of hot phases without a split key.
    counted: bool,
    /// The end of the pause after a failed change.
    not_before: Option<Instant>,
}

/// The pause before another attempt to split a large range without a split key: a range with a single partition rarely
/// gets a second one, so a new attempt would mostly fail too.
const NO_SPLIT_KEY_PAUSE: Duration = Duration::from_secs(3600);

impl Balancer {
    /// A balancer without observations.
    #[must_use]
    pub fn new(settings: BalanceSettings) -> Self {
        Self {
            settings,
            known: HashMap::new(),
            no_split_key: 0,
        }
    }

    /// How often no split key was found: for a hot phase, or when a large range had to be split.
    #[must_use]
    pub fn no_split_key(&self) -> u64 {
        self.no_split_key
    }

    /// Records that an action failed. Its ranges pause, so that the balancer can change other ranges.
    pub fn note_failed(&mut self, now: Instant, action: &BalanceAction, has_no_split_key: bool) {
        let pause = match has_no_split_key {
            true => NO_SPLIT_KEY_PAUSE,
            false => self.settings.cool_down,
        };
        self.no_split_key += u64::from(has_no_split_key);
        let ids = match action {
            BalanceAction::SplitBySize(id) | BalanceAction::SplitByLoad(id, _) => [*id, *id],
            BalanceAction::Merge(left, right) => [*left, *right],
        };
        for id in ids {
            if let Some(history) = self.known.get_mut(&id) {
                history.not_before = Some(now + pause);
            }
        }
    }

    /// The action of this round, at most one. The ranges, those of this many servers, are in key order.
    pub fn decide(
        &mut self,
        now: Instant,
        ranges: &[Observed],
        servers: usize,
    ) -> Option<BalanceAction> {
        self.note(now, ranges);
        let has_room = ranges.len() < self.settings.ranges_max.saturating_mul(servers);
        self.split(now, ranges, has_room)
            .or_else(|| self.merge(now, ranges))
    }

    /// Updates the observations, and drops the history of removed ranges.
    fn note(&mut self, now: Instant, ranges: &[Observed]) {
        let before = std::mem::take(&mut self.known);
        for range in ranges {
            let known = before.get(&range.id).copied();
            let mut history = known.unwrap_or(History {
                seen: now,
                hot: None,
                cold: None,
                counted: false,
                not_before: None,
            });
            let hot =
                range.rate > self.settings.split_rate || range.cores > self.settings.split_cores;
            history.hot = hot.then(|| history.hot.unwrap_or(now));
            history.counted &= hot;
            let cold = self.is_cold(range);
            history.cold = cold.then(|| history.cold.unwrap_or(now));
            self.known.insert(range.id, history);
        }
    }

    fn is_cold(&self, range: &Observed) -> bool {
        range.rate < self.settings.split_rate / 4.0
            && range.cores < self.settings.split_cores / 4.0
            && range.bytes < self.settings.split_bytes / 4
    }

    fn split(
        &mut self,
        now: Instant,
        ranges: &[Observed],
        has_room: bool,
    ) -> Option<BalanceAction> {
        let settings = self.settings;
        let left_alone = |history: &History| history.not_before.is_some_and(|until| now < until);
        for range in ranges.iter().filter(|range| !range.detaching && has_room) {
            let is_due = self
                .known
                .get(&range.id)
                .is_some_and(|history| !left_alone(history));
            if is_due && range.bytes > settings.split_bytes {
                return Some(BalanceAction::SplitBySize(range.id));
            }
        }
        for range in ranges {
            let Some(history) = self.known.get_mut(&range.id) else {
                continue;
            };
            if left_alone(history) {
                continue;
            }
            let hot = history.hot.is_some_and(|hot| now - hot >= settings.hot_for);
            if !hot || now - history.seen < settings.cool_down {
                continue;
            }
            match &range.split_point {
                SplitPoint::At(key) if settings.by_load && has_room && !range.detaching => {
                    return Some(BalanceAction::SplitByLoad(range.id, key.clone()));
                }
                SplitPoint::None if !history.counted => {
                    history.counted = true;
                    self.no_split_key += 1;
                }
                SplitPoint::At(_) | SplitPoint::None | SplitPoint::Unknown => {}
            }
        }
        None
    }

    fn merge(&self, now: Instant, ranges: &[Observed]) -> Option<BalanceAction> {
        let cold = |range: &Observed| {
            let history = self.known.get(&range.id);
            let history =
                history.filter(|history| history.not_before.is_none_or(|until| now >= until));
            let since = history.and_then(|history| history.cold);
            !range.detaching && since.is_some_and(|since| now - since >= self.settings.cold_for)
        };
        ranges.windows(2).find_map(|pair| match pair {
            [a, b] if cold(a) && cold(b) => Some(BalanceAction::Merge(a.id, b.id)),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests;
