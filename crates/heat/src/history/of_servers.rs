//! Histories of several servers, each of the ranges that it had, drawn as one.
//!
//! A server sends its slots as [`Segment`]s, the form in which they are stored. So counts and latency histograms are added
//! when the map is drawn, and the sum of the map is the load of all servers.

use super::map::{self, HeatMap, MapShape};
use super::partitions::{self, PartitionRow};
use super::segment::{self, SegmentName};
use super::tiers::{Tier, Tiers};
use super::{HeatHistory, time_of};
use crate::Bounds;
use serde::{Deserialize, Serialize};
use std::time::SystemTime;

/// Slots of one length, in the form in which they are stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    /// The length and the time range of the slots: the name of a stored segment.
    pub name: String,
    /// The bytes of a stored segment.
    pub content: Vec<u8>,
}

impl HeatHistory {
    /// The slots that overlap a time range.
    #[must_use]
    pub fn segments(&self, from: SystemTime, to: SystemTime) -> Vec<Segment> {
        let (from, to) = (time_of(from), time_of(to).saturating_add(1));
        self.with(|tiers| {
            let segments = Tier::ALL.into_iter().filter_map(|tier| {
                let name = SegmentName {
                    from: tier.align(from),
                    to,
                    tier,
                };
                let slots = tiers.of(tier);
                let first = slots.partition_point(|slot| slot.start < name.from);
                let end = slots.partition_point(|slot| slot.start < to);
                (first < end).then(|| Segment {
                    name: name.to_string(),
                    content: segment::encode(name, slots.range(first..end)),
                })
            });
            segments.collect()
        })
    }

    /// The history of a server that sent these segments.
    ///
    /// # Errors
    /// What is wrong with a segment.
    pub fn of_segments(segments: &[Segment]) -> Result<Self, String> {
        let mut tiers = Tiers::default();
        for Segment { name, content } in segments {
            let name = SegmentName::parse(name).ok_or("the name is not that of a segment")?;
            let slots = segment::decode(name, content, &mut tiers.keys);
            for slot in slots.map_err(|fault| fault.to_string())? {
                tiers.put(name.tier, slot.start, slot.into_load());
            }
        }
        Ok(Self::of(tiers))
    }

    /// Like [`HeatHistory::map_within`], with the load of other servers.
    #[must_use]
    pub fn map_with(
        &self,
        others: &[HeatHistory],
        time: (SystemTime, SystemTime),
        shape: MapShape,
        keys: &Bounds,
    ) -> HeatMap {
        self.with_all(others, |all| map::draw(all, time, shape, keys))
    }

    /// Like [`HeatHistory::partitions`], with the partitions of other servers.
    #[must_use]
    pub fn partitions_with(
        &self,
        others: &[HeatHistory],
        time: (SystemTime, SystemTime),
        shape: MapShape,
        keys: &Bounds,
    ) -> Vec<PartitionRow> {
        self.with_all(others, |all| partitions::draw(all, time, shape, keys))
    }

    fn with_all<T>(&self, others: &[HeatHistory], read: impl FnOnce(&[&Tiers]) -> T) -> T {
        let guards: Vec<_> = std::iter::once(self)
            .chain(others)
            .map(|history| history.tiers.lock())
            .collect();
        let tiers: Vec<&Tiers> = guards.iter().map(|guard| &**guard).collect();
        read(&tiers)
    }
}
