//! Whether to split or merge ranges, from their sizes and loads: pure decisions, so that hours can be simulated in a test.
//!
//! - **Split by size** when the files of a range exceed [`BalanceSettings::split_bytes`].
//! - **Split by load**, where [`BalanceSettings::by_load`] says so, when requests stay above [`BalanceSettings::split_rate`], or
//!   the processor time they take above [`BalanceSettings::split_cores`], for [`BalanceSettings::hot_for`], and a cut is known that shares
//!   the load out. A single hot partition has none: that is counted, and shown, and nothing is done. Where too little load was
//!   seen to tell, nothing is done either.
//! - **Merge** two neighbours that both stayed below a quarter of all triggers for [`BalanceSettings::cold_for`].
//!
//! What keeps it from going back and forth: one action a round; a new range is left alone for a while; and two ranges that were
//! merged weigh at most half of what would split them again.

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
    /// So is one that takes more than this of the processors: 1.0 is one of them.
    pub split_cores: f64,
    /// Whether hot ranges are split, if that shares their load out. Where one process serves all ranges it gains nothing.
    pub by_load: bool,
    /// For so long before it is split.
    pub hot_for: Duration,
    /// Neighbours below a quarter of all for so long are merged.
    pub cold_for: Duration,
    /// A range is not split again by load for so long after it was made.
    pub cool_down: Duration,
    /// No more ranges than this are made.
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

/// How a range stands in a round. Given in key order.
#[derive(Debug, Clone, PartialEq)]
pub struct Observed {
    /// Which range.
    pub id: RangeId,
    /// Its bytes in files.
    pub bytes: u64,
    /// Its requests a second of late.
    pub rate: f64,
    /// How many processors they took, background work left out.
    pub cores: f64,
    /// Where a cut would share its load out.
    pub cut: Cut,
    /// Whether it is still rewriting files of others: it is not changed meanwhile.
    pub rewriting: bool,
}

/// Where a cut would share the load of a range out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cut {
    /// Before this key.
    At(Bytes),
    /// Nowhere: what has most of the load cannot be cut.
    Nowhere,
    /// Too little load was seen to tell.
    Unknown,
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Split in the middle of its bytes.
    SplitBySize(RangeId),
    /// Split where its load is shared out.
    SplitByLoad(RangeId, Bytes),
    /// Merge with the next one.
    Merge(RangeId, RangeId),
}

/// Decides, round after round.
#[derive(Debug)]
pub struct Balancer {
    settings: BalanceSettings,
    marks: HashMap<RangeId, Mark>,
    no_split_key: u64,
}

/// Since when a range is what it is.
#[derive(Debug, Clone, Copy)]
struct Mark {
    seen: Instant,
    hot: Option<Instant>,
    cold: Option<Instant>,
    /// Counted as hot without a cut, once for each time it gets hot.
    counted: bool,
    /// Left alone until then: it could not be changed.
    not_before: Option<Instant>,
}

/// How long a range without a split key is left alone that is too large: a partition hardly ever gets a neighbour within it.
const NO_SPLIT_KEY_PAUSE: Duration = Duration::from_secs(3600);

impl Balancer {
    /// Knows nothing of any range yet.
    #[must_use]
    pub fn new(settings: BalanceSettings) -> Self {
        Self {
            settings,
            marks: HashMap::new(),
            no_split_key: 0,
        }
    }

    /// How often a range stayed hot and had no key to split it at.
    #[must_use]
    pub fn no_split_key(&self) -> u64 {
        self.no_split_key
    }

    /// Notes that an action could not be done: its ranges are left alone for a while, so that others get their turn.
    pub fn note_failed(&mut self, now: Instant, action: &Action, has_no_split_key: bool) {
        let pause = match has_no_split_key {
            true => NO_SPLIT_KEY_PAUSE,
            false => self.settings.cool_down,
        };
        self.no_split_key += u64::from(has_no_split_key);
        let ids = match action {
            Action::SplitBySize(id) | Action::SplitByLoad(id, _) => [*id, *id],
            Action::Merge(left, right) => [*left, *right],
        };
        for id in ids {
            if let Some(mark) = self.marks.get_mut(&id) {
                mark.not_before = Some(now + pause);
            }
        }
    }

    /// What to do in this round: at most one thing.
    pub fn decide(&mut self, now: Instant, ranges: &[Observed]) -> Option<Action> {
        self.note(now, ranges);
        self.split(now, ranges).or_else(|| self.merge(now, ranges))
    }

    /// Brings the marks up to date; those of ranges that are gone go.
    fn note(&mut self, now: Instant, ranges: &[Observed]) {
        let before = std::mem::take(&mut self.marks);
        for range in ranges {
            let known = before.get(&range.id).copied();
            let mut mark = known.unwrap_or(Mark {
                seen: now,
                hot: None,
                cold: None,
                counted: false,
                not_before: None,
            });
            let hot =
                range.rate > self.settings.split_rate || range.cores > self.settings.split_cores;
            mark.hot = hot.then(|| mark.hot.unwrap_or(now));
            mark.counted &= hot;
            let cold = self.is_cold(range);
            mark.cold = cold.then(|| mark.cold.unwrap_or(now));
            self.marks.insert(range.id, mark);
        }
    }

    #[allow(clippy::cast_precision_loss, reason = "a quarter of some gigabytes")]
    fn is_cold(&self, range: &Observed) -> bool {
        range.rate < self.settings.split_rate / 4.0
            && range.cores < self.settings.split_cores / 4.0
            && range.bytes < self.settings.split_bytes / 4
    }

    fn split(&mut self, now: Instant, ranges: &[Observed]) -> Option<Action> {
        let settings = self.settings;
        let room = ranges.len() < settings.ranges_max;
        let left_alone = |mark: &Mark| mark.not_before.is_some_and(|until| now < until);
        for range in ranges.iter().filter(|range| !range.rewriting && room) {
            let is_due = self
                .marks
                .get(&range.id)
                .is_some_and(|mark| !left_alone(mark));
            if is_due && range.bytes > settings.split_bytes {
                return Some(Action::SplitBySize(range.id));
            }
        }
        for range in ranges {
            let Some(mark) = self.marks.get_mut(&range.id) else {
                continue;
            };
            if left_alone(mark) {
                continue;
            }
            let hot = mark.hot.is_some_and(|hot| now - hot >= settings.hot_for);
            if !hot || now - mark.seen < settings.cool_down {
                continue;
            }
            match &range.cut {
                Cut::At(cut) if settings.by_load && room && !range.rewriting => {
                    return Some(Action::SplitByLoad(range.id, cut.clone()));
                }
                Cut::Nowhere if !mark.counted => {
                    mark.counted = true;
                    self.no_split_key += 1;
                }
                Cut::At(_) | Cut::Nowhere | Cut::Unknown => {}
            }
        }
        None
    }

    fn merge(&self, now: Instant, ranges: &[Observed]) -> Option<Action> {
        let cold = |range: &Observed| {
            let mark = self.marks.get(&range.id);
            let mark = mark.filter(|mark| mark.not_before.is_none_or(|until| now >= until));
            let since = mark.and_then(|mark| mark.cold);
            !range.rewriting && since.is_some_and(|since| now - since >= self.settings.cold_for)
        };
        ranges.windows(2).find_map(|pair| match pair {
            [a, b] if cold(a) && cold(b) => Some(Action::Merge(a.id, b.id)),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests;
