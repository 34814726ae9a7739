//! Whether a database needs a full compaction: pure functions of its files.

use std::time::Duration;

use bytes::Bytes;

use crate::slate::settings::SpaceSettings;

/// A database at rest is compacted when it takes more than this many tenths of the bytes that it would take after the
/// compaction, as estimated.
const TENTHS_MAX: u64 = 13;

/// The pause after a full compaction if the next one would remove all rows, as a multiple of the compaction's duration.
const PAUSE_FACTOR: f64 = 0.2;

/// The longest pause after a full compaction, as a multiple of the compaction's duration.
const PAUSE_MAX: f64 = 100.0;

/// A level 0 file or a sorted run. A sorted run has each key once.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Source {
    pub(super) is_level0: bool,
    pub(super) rows: u64,
    /// The number of rows that are deletions.
    pub(super) deletes: u64,
    /// The number of deletions in its longest stretch ([`super::counts`]).
    pub(super) stretch: u64,
    pub(super) files: Vec<KeySpan>,
}

/// The keys and bytes of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct KeySpan {
    pub(super) first: Bytes,
    /// `None` if unknown.
    pub(super) last: Option<Bytes>,
    pub(super) bytes: u64,
}

impl KeySpan {
    fn overlaps(&self, other: &Self) -> bool {
        let begins_in = |one: &Self, other: &Self| {
            other.first <= one.first && other.last.as_ref().is_none_or(|last| one.first <= *last)
        };
        begins_in(self, other) || begins_in(other, self)
    }
}

impl Source {
    fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }
}

/// Why a database needs a full compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    /// Scans may have to skip many deletions.
    DeletedRows,
    /// Overwritten and deleted rows take much of the space.
    UnusedSpace,
}

impl Reason {
    pub(super) const ALL: [Self; 2] = [Self::DeletedRows, Self::UnusedSpace];

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::DeletedRows => "deleted_rows",
            Self::UnusedSpace => "unused_space",
        }
    }
}

/// Why a database needs a full compaction, and how much it would remove.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Need {
    pub(super) reason: Reason,
    /// Estimated share of the rows, or bytes, that the compaction would remove.
    pub(super) share: f64,
}

impl Need {
    /// The pause after the last full compaction, so that compactions take only a part of the time: half of the time if
    /// each removes a fifth of the rows, and about a hundredth if each removes fewer than one row in 500.
    pub(super) fn pause_after(&self, took: Duration) -> Duration {
        took.mul_f64((PAUSE_FACTOR / self.share.max(f64::EPSILON)).min(PAUSE_MAX))
    }
}

/// Why a database with these files, newest first, and this many deletions in memory needs a full compaction; `None` if
/// it needs none. `at_rest`: its files have not changed for a while.
pub(super) fn need(
    sources: &[Source],
    deletes_in_memory: u64,
    at_rest: bool,
    settings: &SpaceSettings,
) -> Option<Need> {
    if !has_effect(sources, deletes_in_memory) {
        return None;
    }
    let sum = |count: fn(&Source) -> u64| sources.iter().map(count).sum::<u64>();
    let deletes = sum(|source| source.deletes) + deletes_in_memory;
    // An upper bound: the stretches of several files may be adjacent, and then a scan skips all of them.
    let stretch = sum(|source| source.stretch) + deletes_in_memory;
    if stretch >= settings.stretch_rows_min {
        let rows = sum(|source| source.rows) + deletes_in_memory;
        return Some(Need {
            reason: Reason::DeletedRows,
            // Assumes that each deletion hides one row, so that the compaction removes two.
            share: share(2 * deletes, rows),
        });
    }
    let total = sum(Source::bytes);
    if !at_rest || total < settings.unused_bytes_min {
        return None;
    }
    let unused = unused_bytes(sources, total);
    (total * 10 > (total - unused) * TENTHS_MAX).then(|| Need {
        reason: Reason::UnusedSpace,
        share: share(unused, total),
    })
}

/// Whether a full compaction can remove anything. A single sorted run is the result of a full compaction.
fn has_effect(sources: &[Source], deletes_in_memory: u64) -> bool {
    match sources {
        [] => deletes_in_memory > 0,
        [only] => only.is_level0 || deletes_in_memory > 0,
        _ => true,
    }
}

/// An upper bound of the bytes of overwritten and deleted rows. The sizes of rows are unknown, so all rows count as
/// equally long, and deletions as empty.
fn unused_bytes(sources: &[Source], total: u64) -> u64 {
    // A source has each key once. So except for deleted rows, the bytes in use are at least those of the largest
    // source.
    let largest = sources.iter().map(Source::bytes).max().unwrap_or_default();
    let overwritten = (total - largest).min(overlapped_bytes(sources));
    let rows: u64 = sources.iter().map(|source| source.rows).sum();
    let deletes: u64 = sources.iter().map(|source| source.deletes).sum();
    let puts = rows - deletes.min(rows);
    let deleted = if puts == 0 {
        total
    } else {
        let bytes = u128::from(total) * u128::from(deletes) / u128::from(puts);
        u64::try_from(bytes).unwrap_or(u64::MAX)
    };
    overwritten.saturating_add(deleted).min(total)
}

/// The bytes of files whose key ranges overlap with a newer source. Files of a time series do not overlap: each has
/// later keys than the one before.
fn overlapped_bytes(sources: &[Source]) -> u64 {
    let mut bytes = 0;
    for (number, source) in sources.iter().enumerate() {
        let newer = sources.get(..number).unwrap_or_default();
        let overlapped = source.files.iter().filter(|file| {
            let mut newer = newer.iter().flat_map(|source| &source.files);
            newer.any(|newer| newer.overlaps(file))
        });
        bytes += overlapped.map(|file| file.bytes).sum::<u64>();
    }
    bytes
}

fn share(part: u64, whole: u64) -> f64 {
    (part as f64 / whole.max(1) as f64).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: SpaceSettings = SpaceSettings {
        stretch_rows_min: 100,
        unused_bytes_min: 1_000,
        rest: Duration::from_secs(30),
    };

    fn span(first: &'static str, last: &'static str, bytes: u64) -> KeySpan {
        KeySpan {
            first: first.into(),
            last: Some(last.into()),
            bytes,
        }
    }

    /// A sorted run of one file with a row for each ten bytes.
    fn run(first: &'static str, last: &'static str, bytes: u64) -> Source {
        Source {
            rows: bytes / 10,
            files: vec![span(first, last, bytes)],
            ..Source::default()
        }
    }

    fn deleting(source: Source, deletes: u64) -> Source {
        Source {
            rows: source.rows + deletes,
            deletes,
            stretch: deletes,
            ..source
        }
    }

    fn reason(sources: &[Source], deletes_in_memory: u64, at_rest: bool) -> Option<Reason> {
        need(sources, deletes_in_memory, at_rest, &SETTINGS).map(|need| need.reason)
    }

    #[test]
    fn a_stretch_of_deletions_is_compacted_also_under_load() {
        let old = run("a", "z", 100_000);
        let few = deleting(run("a", "m", 0), 99);
        let deletes = Some(Reason::DeletedRows);
        assert_eq!(reason(&[few.clone(), old.clone()], 0, false), None);
        assert_eq!(reason(&[few.clone(), old.clone()], 1, false), deletes);
        let two = [few.clone(), few, old.clone()];
        assert_eq!(reason(&two, 0, false), deletes);
        assert_eq!(reason(&[old], 100, false), deletes);
        assert_eq!(reason(&[], 100, false), deletes);
        let one_file = Source {
            is_level0: true,
            ..deleting(run("a", "m", 0), 100)
        };
        assert_eq!(reason(&[one_file], 0, false), deletes);
    }

    #[test]
    fn a_compacted_database_needs_nothing() {
        assert_eq!(reason(&[], 0, true), None);
        assert_eq!(reason(&[run("a", "z", 100_000)], 0, true), None);
        // If a full compaction leaves deletions, another one would not remove them either.
        let left = deleting(run("a", "z", 100_000), 1_000);
        assert_eq!(reason(&[left], 0, true), None);
        let marker = Source {
            is_level0: true,
            ..deleting(run("a", "a", 500), 1)
        };
        assert_eq!(reason(&[marker, run("a", "z", 100_000)], 0, true), None);
    }

    #[test]
    fn unused_space_is_compacted_at_rest() {
        let unused = Some(Reason::UnusedSpace);
        let overwritten = [run("a", "z", 31_000), run("a", "z", 100_000)];
        assert_eq!(reason(&overwritten, 0, true), unused);
        assert_eq!(reason(&overwritten, 0, false), None);
        let little = [run("a", "z", 29_000), run("a", "z", 100_000)];
        assert_eq!(reason(&little, 0, true), None);
        let small = [run("a", "z", 310), run("a", "z", 600)];
        assert_eq!(reason(&small, 0, true), None);
        let follows = [run("k", "z", 100_000), run("a", "j", 100_000)];
        assert_eq!(reason(&follows, 0, true), None);
        let partly = [run("i", "z", 100_000), run("a", "j", 100_000)];
        assert_eq!(reason(&partly, 0, true), unused);
    }

    /// There are too few deletions for a stretch, but they hide long rows.
    #[test]
    fn deleted_long_rows_are_compacted_at_rest() {
        let long = Source {
            rows: 200,
            ..run("a", "z", 100_000)
        };
        let newer = |deletes| deleting(run("a", "z", 100), deletes);
        assert_eq!(
            reason(&[newer(80), long.clone()], 0, true),
            Some(Reason::UnusedSpace)
        );
        assert_eq!(reason(&[newer(20), long], 0, true), None);
    }

    #[test]
    fn the_pause_is_longer_the_less_a_compaction_removes() {
        let took = Duration::from_secs(10);
        let pause = |share| {
            let reason = Reason::DeletedRows;
            Need { reason, share }.pause_after(took).as_secs()
        };
        assert_eq!(pause(1.0), 2);
        assert_eq!(pause(0.2), 10);
        assert_eq!(pause(0.01), 200);
        assert_eq!(pause(0.0), 1_000);
    }
}
