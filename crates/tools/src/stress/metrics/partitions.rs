//! Load by partition, and growth at the ends of the table.
//!
//! - Each second is counted separately. So the metrics find partitions that are hot only for some seconds, as in a
//!   table that grows at one end.
//! - Growth is measured: entities written beyond the greatest or smallest PartitionKey of all earlier seconds, or into
//!   that partition if the run created it. Writes to an end partition that existed before are not growth.
//! - Memory is bounded: at most [`SECOND_MAX`] partitions have their own counts in a second. If more than [`KEPT_MAX`]
//!   partitions have totals, the less loaded half of them is dropped. If a dropped partition appears again, its totals
//!   start from zero.

use super::series::tenths;
use partita_model::compare_utf16;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::collections::HashMap;

/// Maximum number of partitions with their own counts in a second; further ones are counted together.
const SECOND_MAX: usize = 20_000;
/// Number of partitions with their own totals, above which the less loaded half is dropped.
const KEPT_MAX: usize = 20_000;

/// The load of a partition in a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartitionMetrics {
    /// The PartitionKey.
    pub partition_key: String,
    /// Entities per second that operations requested, in the steady part of the run.
    pub asked_per_second: f64,
    /// Entities per second that were read or written, in the steady part of the run.
    pub served_per_second: f64,
    /// Number of entities requested in the partition's busiest second.
    pub peak_asked: u64,
    /// The partition's share (0 to 1) of all entities requested in the run.
    pub share: f64,
    /// Number of attempts on this partition that the server refused, in the whole run.
    pub refused: u64,
}

/// Writes at the ends of the table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Growth {
    /// Entities per second that were written, in the steady part of the run.
    pub written_per_second: f64,
    /// The share (0 to 1) of these entities whose PartitionKey was greater than all keys of earlier seconds, or was the
    /// greatest of them, in a partition that the run created.
    pub tail_share: f64,
    /// The share (0 to 1) of these entities whose PartitionKey was smaller than all keys of earlier seconds, or was the
    /// smallest of them, in a partition that the run created.
    pub head_share: f64,
}

/// The counts of a partition.
#[derive(Debug, Clone, Copy, Default)]
struct PartitionLoad {
    /// Entities that were requested.
    asked: u64,
    /// Entities that were read or written.
    served: u64,
    /// Attempts that the server refused.
    refused: u64,
}

/// The totals of a partition.
#[derive(Debug, Clone, Copy, Default)]
struct PartitionTotals {
    /// In the whole run.
    all: PartitionLoad,
    /// In the steady part of the run.
    steady: PartitionLoad,
    /// Entities requested in the busiest second.
    peak_asked: u64,
}

/// Sums over all partitions in the steady part of the run.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SteadySums {
    pub(super) seconds: f64,
    pub(super) asked: u64,
    pub(super) served: u64,
    /// The entities requested from the busiest partition of each second, summed over the steady seconds.
    pub(super) busiest_asked: u64,
    written: u64,
    tail: u64,
    head: u64,
}

/// The smallest and the greatest PartitionKey of the table; `None` without rows.
type Ends = Option<(String, String)>;

/// The load of all partitions.
#[derive(Debug, Default)]
pub(super) struct Partitions {
    /// The first second that counts as steady.
    steady_from: u64,
    /// The current second.
    second: u64,
    /// The last second of the run. Later events are counted in this second.
    last: u64,
    /// The counts of the current second.
    now: HashMap<String, PartitionLoad>,
    /// The load in the current second of further partitions, and of operations without a known partition.
    others: PartitionLoad,
    /// Entities written in the current second: all, at the tail, at the head.
    written: [u64; 3],
    /// The totals of earlier seconds.
    kept: HashMap<String, PartitionTotals>,
    steady: SteadySums,
    /// Entities requested in the whole run.
    asked: u64,
    /// The ends of the table at the start of the run; after its first second if the table was empty.
    ends_first: Ends,
    /// The ends at the start of this second.
    ends: Ends,
    /// The ends, including the writes of this second.
    ends_now: Ends,
}

impl Partitions {
    /// Starts a run. Seconds before `steady_from` belong to the ramp.
    pub(super) fn new(steady_from: u64) -> Self {
        Self {
            steady_from,
            last: u64::MAX,
            ..Self::default()
        }
    }

    /// Records that the partition had rows before the run.
    pub(super) fn found(&mut self, partition_key: &str) {
        stretch(&mut self.ends_now, partition_key);
        self.ends.clone_from(&self.ends_now);
        self.ends_first.clone_from(&self.ends_now);
    }

    /// Counts requested entities. The partition is `None` if it is unknown.
    pub(super) fn asked(&mut self, second: u64, partition_key: Option<&str>, entities: u64) {
        self.advance(second);
        self.asked += entities;
        self.load(partition_key).asked += entities;
    }

    /// Counts written entities, and whether they are at an end of the table.
    pub(super) fn writes(&mut self, second: u64, partition_key: &str, entities: u64) {
        self.advance(second);
        let (mut is_head, mut is_tail) = (false, false);
        if let (Some((first, last)), Some((first_found, last_found))) =
            (&self.ends, &self.ends_first)
        {
            let is_before = |a: &str, b: &str| compare_utf16(a, b) == Ordering::Less;
            is_head = is_before(partition_key, first)
                || partition_key == first && is_before(first, first_found);
            is_tail = is_before(last, partition_key)
                || partition_key == last && is_before(last_found, last);
        }
        let [written, tail, head] = &mut self.written;
        *written += entities;
        *tail += if is_tail { entities } else { 0 };
        *head += if is_head { entities } else { 0 };
        stretch(&mut self.ends_now, partition_key);
    }

    /// Counts entities that were read or written.
    pub(super) fn served(&mut self, second: u64, partition_key: Option<&str>, entities: u64) {
        self.advance(second);
        self.load(partition_key).served += entities;
    }

    /// Counts a refused attempt.
    pub(super) fn refused(&mut self, second: u64, partition_key: Option<&str>) {
        self.advance(second);
        self.load(partition_key).refused += 1;
    }

    /// The busiest partition of the current second, and the number of entities requested from it.
    pub(super) fn busiest_now(&self) -> Option<(&str, u64)> {
        let loads = self
            .now
            .iter()
            .map(|(key, load)| (key.as_str(), load.asked));
        loads.max_by_key(|(_, asked)| *asked)
    }

    fn load(&mut self, partition_key: Option<&str>) -> &mut PartitionLoad {
        let Some(key) = partition_key else {
            return &mut self.others;
        };
        if self.now.len() >= SECOND_MAX && !self.now.contains_key(key) {
            return &mut self.others;
        }
        self.now.entry(key.to_owned()).or_default()
    }

    /// Records that no operation begins after this second. Later answers do not extend the steady part: seconds without
    /// new operations would make the load seem lighter.
    pub(super) fn stopped(&mut self, second: u64) {
        self.advance(second);
        self.last = self.last.min(second);
    }

    /// Ends the current second if this second is later, and starts this one.
    fn advance(&mut self, second: u64) {
        let second = second.min(self.last);
        if second <= self.second {
            return;
        }
        let is_steady = self.second >= self.steady_from;
        self.fold(is_steady);
        let begin = self.second.max(self.steady_from);
        self.steady.seconds += second.saturating_sub(begin) as f64;
        self.second = second;
        self.ends.clone_from(&self.ends_now);
        if self.ends_first.is_none() {
            self.ends_first.clone_from(&self.ends_now);
        }
        if self.kept.len() > KEPT_MAX {
            self.drop_least_loaded();
        }
    }

    /// Adds the counts of the current second to the totals.
    fn fold(&mut self, is_steady: bool) {
        let steady = &mut self.steady;
        let others = std::mem::take(&mut self.others);
        let [written, tail, head] = std::mem::take(&mut self.written);
        if is_steady {
            steady.asked += others.asked;
            steady.served += others.served;
            steady.written += written;
            steady.tail += tail;
            steady.head += head;
        }
        let mut busiest = 0;
        for (key, load) in self.now.drain() {
            busiest = busiest.max(load.asked);
            let kept = self.kept.entry(key).or_default();
            kept.all.add(load);
            kept.peak_asked = kept.peak_asked.max(load.asked);
            if is_steady {
                kept.steady.add(load);
                steady.asked += load.asked;
                steady.served += load.served;
            }
        }
        if is_steady {
            steady.busiest_asked += busiest;
        }
    }

    /// Drops the totals of the less loaded half of the partitions.
    fn drop_least_loaded(&mut self) {
        let mut loads: Vec<u64> = self.kept.values().map(|kept| kept.all.asked).collect();
        let middle = loads.len() / 2;
        let (_, bound, _) = loads.select_nth_unstable(middle);
        let bound = *bound;
        self.kept.retain(|_, kept| kept.all.asked > bound);
    }

    /// Ends the run at this time, in seconds. If the run has no complete second after its ramp, the whole run counts as
    /// steady.
    pub(super) fn end(&mut self, end_seconds: f64) {
        let has_steady = self.steady.seconds > 0.0;
        self.fold(!has_steady);
        if has_steady {
            return;
        }
        self.steady.seconds = end_seconds.max(1e-3);
        self.steady.asked = self.asked;
        self.steady.served = self
            .kept
            .values()
            .map(|kept| kept.all.served)
            .sum::<u64>()
            .max(self.steady.served);
        for kept in self.kept.values_mut() {
            kept.steady = kept.all;
        }
    }

    /// Sums of the steady part.
    pub(super) fn steady(&self) -> SteadySums {
        self.steady
    }

    /// The number of partitions with their own totals.
    pub(super) fn len(&self) -> u64 {
        self.kept.len() as u64
    }

    /// The metrics of the busiest partitions, by requested entities.
    pub(super) fn busiest(&self, count_max: usize) -> Vec<PartitionMetrics> {
        let mut all: Vec<(&String, &PartitionTotals)> = self.kept.iter().collect();
        // The verdict uses the steady part, so the steady load is compared first.
        let load = |kept: &PartitionTotals| (kept.steady.asked, kept.all.asked);
        all.sort_by(|a, b| load(b.1).cmp(&load(a.1)).then_with(|| a.0.cmp(b.0)));
        let seconds = self.steady.seconds.max(1e-3);
        let one = |(key, kept): &(&String, &PartitionTotals)| PartitionMetrics {
            partition_key: (*key).clone(),
            asked_per_second: tenths(kept.steady.asked as f64 / seconds),
            served_per_second: tenths(kept.steady.served as f64 / seconds),
            peak_asked: kept.peak_asked,
            share: part(kept.all.asked, self.asked),
            refused: kept.all.refused,
        };
        all.iter().take(count_max).map(one).collect()
    }

    pub(super) fn growth(&self) -> Growth {
        let steady = &self.steady;
        Growth {
            written_per_second: tenths(steady.written as f64 / steady.seconds.max(1e-3)),
            tail_share: part(steady.tail, steady.written),
            head_share: part(steady.head, steady.written),
        }
    }
}

impl PartitionLoad {
    fn add(&mut self, other: Self) {
        self.asked += other.asked;
        self.served += other.served;
        self.refused += other.refused;
    }
}

/// `part` as a share of `whole`, rounded to four digits; 0 if `whole` is 0.
fn part(part: u64, whole: u64) -> f64 {
    (part as f64 / whole.max(1) as f64 * 10_000.0).round() / 10_000.0
}

fn stretch(ends: &mut Ends, key: &str) {
    let Some((first, last)) = ends else {
        *ends = Some((key.to_owned(), key.to_owned()));
        return;
    };
    if compare_utf16(key, first) == Ordering::Less {
        key.clone_into(first);
    }
    if compare_utf16(key, last) == Ordering::Greater {
        key.clone_into(last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn averages_exclude_the_ramp_and_the_last_second() {
        let mut partitions = Partitions::new(2);
        for (second, entities) in [(0, 10), (1, 1_000), (2, 300), (3, 500), (4, 7)] {
            partitions.asked(second, Some("hot"), entities);
            partitions.asked(second, Some("cold"), 1);
            partitions.served(second, Some("hot"), entities / 10);
        }
        partitions.refused(4, Some("hot"));
        partitions.end(4.1);
        let busiest = partitions.busiest(10);
        assert_eq!(busiest.len(), 2);
        let hot = &busiest[0];
        assert_eq!((hot.asked_per_second, hot.served_per_second), (400.0, 40.0));
        assert_eq!((hot.peak_asked, hot.refused), (1_000, 1));
        assert_eq!(hot.share, 0.9973);
        assert_eq!(partitions.steady().seconds, 2.0);
        assert_eq!(partitions.steady().busiest_asked, 800);
    }

    #[test]
    fn answers_after_the_end_do_not_extend_the_steady_part() {
        let mut partitions = Partitions::new(1);
        for second in 0..4 {
            partitions.asked(second, Some("a"), 100);
            partitions.served(second, Some("a"), 100);
        }
        partitions.stopped(4);
        partitions.served(9, Some("a"), 1);
        partitions.refused(10, Some("a"));
        partitions.end(4.0);
        assert_eq!(partitions.steady().seconds, 3.0);
        let hot = &partitions.busiest(1)[0];
        assert_eq!(
            (hot.asked_per_second, hot.served_per_second),
            (100.0, 100.0)
        );
        assert_eq!(hot.refused, 1);
    }

    #[test]
    fn a_run_without_a_steady_second_is_steady_as_a_whole() {
        let mut partitions = Partitions::new(0);
        partitions.asked(0, Some("a"), 30);
        partitions.asked(0, None, 10);
        partitions.served(0, Some("a"), 20);
        partitions.end(0.5);
        assert_eq!(partitions.busiest(1)[0].asked_per_second, 60.0);
        assert_eq!(partitions.steady().asked, 40);
        assert_eq!(partitions.steady().served, 20);
    }

    #[test]
    fn growth_at_the_ends_is_detected_from_the_keys() {
        let growth = |key: fn(u64) -> String| {
            let mut partitions = Partitions::new(1);
            partitions.found(&key(0));
            for number in 1..5_000 {
                partitions.writes(number / 1_000, &key(number), 1);
            }
            partitions.end(5.0);
            partitions.growth()
        };
        let append = growth(|number| format!("{number:06}"));
        assert_eq!((append.tail_share, append.head_share), (1.0, 0.0));
        assert_eq!(append.written_per_second, 1_000.0);
        let prepend = growth(|number| format!("{:06}", 9_999 - number));
        assert_eq!((prepend.tail_share, prepend.head_share), (0.0, 1.0));
        // Few partitions, one after the other, each for 1.5 seconds.
        let slow = growth(|number| format!("{:02}", number / 1_500));
        assert!(
            (0.83..0.84).contains(&slow.tail_share) && slow.head_share == 0.0,
            "{slow:?}"
        );
        // A hot partition that is at an end of the table from the start is not growth.
        let hot = growth(|number| format!("p{}", if number % 10 == 0 { number % 70 } else { 0 }));
        assert!(hot.tail_share < 0.02 && hot.head_share < 0.01, "{hot:?}");
        let single = growth(|_| "single".to_owned());
        assert_eq!((single.tail_share, single.head_share), (0.0, 0.0));
        let mixed = growth(|number| format!("{:03}", number * 7_919 % 1_000));
        assert!(
            mixed.tail_share < 0.01 && mixed.head_share < 0.01,
            "{mixed:?}"
        );
    }

    #[test]
    fn many_partitions_take_bounded_memory_and_keep_the_hot_one() {
        let mut partitions = Partitions::new(0);
        for second in 0..20 {
            for number in 0..30_000 {
                let key = format!("{second}-{number}");
                partitions.asked(second, Some(&key), 1);
                if number % 100 == 0 {
                    partitions.asked(second, Some("hot"), 1);
                }
            }
            assert!(
                partitions.now.len() <= SECOND_MAX
                    && partitions.kept.len() <= KEPT_MAX + SECOND_MAX
            );
        }
        partitions.end(20.0);
        let busiest = &partitions.busiest(1)[0];
        assert_eq!(
            (busiest.partition_key.as_str(), busiest.peak_asked),
            ("hot", 300)
        );
        assert_eq!(partitions.asked, 20 * 30_300);
    }
}
