//! When to split or merge ranges, from their sizes and loads: pure decisions, so that hours can be simulated in a test.
//!
//! - **Split by size** when the files of a range exceed [`BalanceSettings::split_bytes`].
//! - **Split by load**, if [`BalanceSettings::by_load`] is set, when requests stay above [`BalanceSettings::split_rate`], or the
//!   processor time they use above [`BalanceSettings::split_cores`], for [`BalanceSettings::hot_for`], and a key is known that divides
//!   the load. A single hot partition has none: that is counted and shown, and nothing is done. Nothing is done either while too
//!   little load was seen.
//! - **Merge** two neighbours that both stayed below a quarter of all triggers for [`BalanceSettings::cold_for`].
//!
//! It does not oscillate: one action a round; a new range is left alone for a while; and two ranges that were merged weigh at most
//! half of what would split them again.

mod cores;

pub(crate) use cores::cores;

use bytes::Bytes;
use partita_range::RangeId;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// When to act.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BalanceSettings {
    /// A range with more bytes in files is split.
    pub split_bytes: u64,
    /// A range with more requests a second is hot.
    pub split_rate: f64,
    /// So is one that uses more processors than this: 1.0 is one processor.
    pub split_cores: f64,
    /// Whether hot ranges are split if that divides their load. It gains nothing where one process serves all ranges.
    pub by_load: bool,
    /// How long a range must be hot before it is split.
    pub hot_for: Duration,
    /// How long two neighbours must be below a quarter of all triggers before they are merged.
    pub cold_for: Duration,
    /// How long a new range is not split by load.
    pub cool_down: Duration,
    /// The most ranges it creates.
    pub ranges_max: usize,
}

impl Default for BalanceSettings {
    /// 8 GiB; 5,000 requests a second or half a processor for 10 s, not split for that; an hour; a minute; 64 ranges.
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

/// A range as it was seen in a round. Given in key order.
#[derive(Debug, Clone, PartialEq)]
pub struct Observed {
    /// Which range.
    pub id: RangeId,
    /// Its bytes in files.
    pub bytes: u64,
    /// Its requests a second in the last window.
    pub rate: f64,
    /// How many processors they used, background work excluded.
    pub cores: f64,
    /// Where a split would divide its load.
    pub split_point: SplitPoint,
    /// Whether it is still copying files that it shares with other databases: it is not changed meanwhile.
    pub detaching: bool,
}

/// Where a split would divide the load of a range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SplitPoint {
    /// Before this key.
    At(Bytes),
    /// Nowhere: a single partition, or the growing end of a table, has most of the load.
    None,
    /// Too little load was seen.
    Unknown,
}

/// What the balancer wants done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BalanceAction {
    /// Split in the middle of its bytes.
    SplitBySize(RangeId),
    /// Split where its load is divided.
    SplitByLoad(RangeId, Bytes),
    /// Merge with the next one.
    Merge(RangeId, RangeId),
}

/// Decides, round after round.
#[derive(Debug)]
pub struct Balancer {
    settings: BalanceSettings,
    known: HashMap<RangeId, History>,
    no_split_key: u64,
}

/// Since when a range is what it is.
#[derive(Debug, Clone, Copy)]
struct History {
    seen: Instant,
    hot: Option<Instant>,
    cold: Option<Instant>,
    /// Counted as hot without a split key, once for each time it gets hot.
    counted: bool,
    /// Left alone until then: the last change of it failed.
    not_before: Option<Instant>,
}

/// How long a range that is too large and has no split key is left alone: a partition hardly ever gets a neighbour within it.
const NO_SPLIT_KEY_PAUSE: Duration = Duration::from_secs(3600);

impl Balancer {
    /// Has seen no range yet.
    #[must_use]
    pub fn new(settings: BalanceSettings) -> Self {
        Self {
            settings,
            known: HashMap::new(),
            no_split_key: 0,
        }
    }

    /// How often a range stayed hot and had no key to split it at.
    #[must_use]
    pub fn no_split_key(&self) -> u64 {
        self.no_split_key
    }

    /// Notes that an action failed: its ranges are left alone for a while, so that others are changed.
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

    /// What to do in this round: at most one action.
    pub fn decide(&mut self, now: Instant, ranges: &[Observed]) -> Option<BalanceAction> {
        self.note(now, ranges);
        self.split(now, ranges).or_else(|| self.merge(now, ranges))
    }

    /// Updates what is known of the ranges, and forgets those that are gone.
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

    #[allow(clippy::cast_precision_loss, reason = "a quarter of some gigabytes")]
    fn is_cold(&self, range: &Observed) -> bool {
        range.rate < self.settings.split_rate / 4.0
            && range.cores < self.settings.split_cores / 4.0
            && range.bytes < self.settings.split_bytes / 4
    }

    fn split(&mut self, now: Instant, ranges: &[Observed]) -> Option<BalanceAction> {
        let settings = self.settings;
        let room = ranges.len() < settings.ranges_max;
        let left_alone = |history: &History| history.not_before.is_some_and(|until| now < until);
        for range in ranges.iter().filter(|range| !range.detaching && room) {
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
                SplitPoint::At(key) if settings.by_load && room && !range.detaching => {
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
