//! What the registry must change to list the ranges of a map.

use crate::map::RangeSpec;
use partita_coordinator::{self as registry, RangeRecord, RangeShape, Stored};
use partita_heat::Bounds;
use partita_range::RangeId;
use std::collections::BTreeMap;

/// The keys of ranges in the registry.
pub(crate) type Keys = BTreeMap<registry::RangeId, Stored<RangeRecord>>;

/// Keys of the registry that ranges of the map replace: those of a split, of a merge, or of several changes in a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Replacement {
    /// The keys to delete.
    pub(crate) old: Vec<(registry::RangeId, Stored<RangeRecord>)>,
    /// The ranges without a key that cover the same part of the key space.
    pub(crate) new: Vec<(registry::RangeId, RangeShape)>,
}

/// The replacements after which `keys` has only ranges in `ranges`. Ranges that are new to a part of the key space
/// without keys are not mentioned: their assignment creates the key. `ranges` covers the key space.
pub(crate) fn replacements(keys: &Keys, ranges: &[RangeSpec]) -> Vec<Replacement> {
    let is_listed = |id: u64| ranges.iter().any(|range| range.id.0 == id);
    let outdated = keys.iter().filter(|(id, _)| !is_listed(id.0));
    let mut groups: Vec<Group> = outdated
        .map(|(id, stored)| Group {
            bounds: bounds(&stored.record.shape),
            replacement: Replacement {
                old: vec![(*id, stored.clone())],
                new: Vec::new(),
            },
        })
        .collect();
    for range in ranges {
        if keys.contains_key(&id(range.id)) {
            continue;
        }
        let (touched, rest): (Vec<Group>, Vec<Group>) = groups
            .into_iter()
            .partition(|group| overlap(&group.bounds, &range.bounds));
        groups = rest;
        if let Some(mut group) = touched.into_iter().reduce(Group::join) {
            group.bounds = hull(&group.bounds, &range.bounds);
            group.replacement.new.push((id(range.id), shape(range)));
            groups.push(group);
        }
    }
    groups.into_iter().map(|group| group.replacement).collect()
}

/// A replacement and the part of the key space that it is about.
struct Group {
    bounds: Bounds,
    replacement: Replacement,
}

impl Group {
    fn join(mut self, other: Self) -> Self {
        self.bounds = hull(&self.bounds, &other.bounds);
        self.replacement.old.extend(other.replacement.old);
        self.replacement.new.extend(other.replacement.new);
        self
    }
}

/// The id of a range in the registry.
pub(crate) fn id(range: RangeId) -> registry::RangeId {
    registry::RangeId(range.0)
}

/// A range as the registry describes it.
pub(crate) fn shape(range: &RangeSpec) -> RangeShape {
    RangeShape {
        epoch: range.epoch.0,
        start: range.bounds.start.to_vec(),
        end: range.bounds.end.as_ref().map(|end| end.to_vec()),
    }
}

fn bounds(shape: &RangeShape) -> Bounds {
    Bounds {
        start: shape.start.clone().into(),
        end: shape.end.clone().map(Into::into),
    }
}

fn overlap(one: &Bounds, other: &Bounds) -> bool {
    let begins_before_end = |one: &Bounds, other: &Bounds| {
        let end = other.end.as_ref();
        end.is_none_or(|end| one.start < *end)
    };
    begins_before_end(one, other) && begins_before_end(other, one)
}

/// The smallest range of keys that contains both.
fn hull(one: &Bounds, other: &Bounds) -> Bounds {
    let ends = one.end.as_ref().zip(other.end.as_ref());
    Bounds {
        start: one.start.clone().min(other.start.clone()),
        end: ends.map(|(one, other)| one.clone().max(other.clone())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::Epoch;
    use partita_coordinator::{RangeState, Revision};

    /// A range from one letter to another; `~` is the end of the key space.
    fn range(id: u64, keys: &str) -> RangeSpec {
        let (start, end) = keys.split_once("..").unwrap();
        RangeSpec {
            id: RangeId(id),
            epoch: Epoch(1),
            bounds: Bounds {
                start: start.to_owned().into(),
                end: (end != "~").then(|| end.to_owned().into()),
            },
        }
    }

    fn keys(ranges: &[(u64, &str)]) -> Keys {
        let stored = |(number, keys): &(u64, &str)| {
            let record = RangeRecord {
                shape: shape(&range(*number, keys)),
                state: RangeState::Released,
                logs: Vec::new(),
            };
            let stored = Stored {
                created: Revision(1),
                revision: Revision(1),
                record,
            };
            (registry::RangeId(*number), stored)
        };
        ranges.iter().map(stored).collect()
    }

    /// The ids of the replaced keys and of the new ranges, sorted.
    fn replaced(old: &[(u64, &str)], new: &[(u64, &str)]) -> Vec<(Vec<u64>, Vec<u64>)> {
        let ranges: Vec<RangeSpec> = new.iter().map(|(id, keys)| range(*id, keys)).collect();
        let sorted = |ids: Vec<u64>| {
            let mut ids = ids;
            ids.sort_unstable();
            ids
        };
        let mut found: Vec<_> = replacements(&keys(old), &ranges)
            .into_iter()
            .map(|change| {
                let old = change.old.iter().map(|(id, _)| id.0).collect();
                let new = change.new.iter().map(|(id, _)| id.0).collect();
                (sorted(old), sorted(new))
            })
            .collect();
        found.sort();
        found
    }

    #[test]
    fn a_split_and_a_merge_are_replacements() {
        let (one, two) = ([(1, "..~")], [(2, "..m"), (3, "m..~")]);
        assert_eq!(replaced(&one, &two), [(vec![1], vec![2, 3])]);
        assert_eq!(replaced(&two, &[(4, "..~")]), [(vec![2, 3], vec![4])]);
        assert_eq!(replaced(&two, &two), []);
    }

    #[test]
    fn changes_of_different_keys_are_apart() {
        let old = [(1, "..h"), (2, "h..p"), (3, "p..~")];
        let new = [
            (4, "..c"),
            (5, "c..h"),
            (2, "h..p"),
            (6, "p..t"),
            (7, "t..~"),
        ];
        let expected = [(vec![1], vec![4, 5]), (vec![3], vec![6, 7])];
        assert_eq!(replaced(&old, &new), expected);
    }

    #[test]
    fn several_changes_in_a_row_are_one_replacement() {
        let old = [(1, "..h"), (2, "h..~")];
        let new = [(5, "..c"), (6, "c..p"), (7, "p..~")];
        assert_eq!(replaced(&old, &new), [(vec![1, 2], vec![5, 6, 7])]);
    }

    #[test]
    fn ranges_where_no_key_was_are_left_to_their_assignment() {
        assert_eq!(replaced(&[], &[(1, "..~")]), []);
        let new = [(2, "..h"), (3, "h..~")];
        assert_eq!(replaced(&[(2, "..h")], &new), []);
    }
}
