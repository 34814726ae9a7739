//! Tests the check of a stored map: no kill leaves a store that is refused, and every loss is found.

use super::range_spec::RangeSpec;
use super::*;
use bytes::Bytes;
use partita_engine::{KeyRange, StoredDatabase, StoredFiles, StoredRanges};
use partita_range::{Bounds, FLUSH_MARKER_KEY, RangeId};

/// The split of range 1 into 2 and 3 at `m`: before, begun, decided, and with range 1 deleted.
struct Split {
    first: MapRecord,
    begun: MapRecord,
    decided: MapRecord,
    forgotten: MapRecord,
}

fn spec(id: u64, epoch: u64, start: &'static str, end: Option<&'static str>) -> RangeSpec {
    RangeSpec {
        id: RangeId(id),
        epoch: Epoch(epoch),
        bounds: Bounds {
            start: start.into(),
            end: end.map(Bytes::from),
        },
    }
}

impl Split {
    fn new() -> Self {
        let first = MapRecord::first();
        let begun = first.begin(ChangeRecord::Split {
            range: 1,
            at: "m".into(),
            left: 2,
            right: 3,
        });
        let decided = begun.decide(&[spec(2, 2, "", Some("m")), spec(3, 2, "m", None)]);
        let forgotten = decided.forget(&[RangeId(1)]);
        Self {
            first,
            begun,
            decided,
            forgotten,
        }
    }

    /// The store with these versions, the serving records and databases of these ranges.
    fn store(&self, versions: u64, serving: &[u64], databases: &[u64]) -> StoreContents {
        let all = [&self.first, &self.begun, &self.decided, &self.forgotten];
        let versions = all.into_iter().filter(|record| record.version <= versions);
        let records = [
            ServingRecord::new(&spec(1, 1, "", None), 1),
            ServingRecord::new(&spec(2, 2, "", Some("m")), 3),
            ServingRecord::new(&spec(3, 2, "m", None), 3),
        ];
        let serving = records
            .into_iter()
            .filter(|record| serving.contains(&record.range));
        StoreContents {
            map: MapContents {
                versions: versions.map(kept_version).collect(),
                serving: serving.map(kept_serving).collect(),
            },
            ranges: StoredRanges {
                databases: databases.iter().map(|id| database(*id)).collect(),
                ..StoredRanges::default()
            },
        }
    }

    /// The store at rest after the split, before range 1 is deleted.
    fn finished(&self) -> StoreContents {
        self.store(3, &[1, 2, 3], &[1, 2, 3])
    }
}

fn kept_version(record: &MapRecord) -> KeptVersion {
    KeptVersion {
        version: record.version,
        record: Ok(record.clone()),
    }
}

fn kept_serving(record: ServingRecord) -> KeptServing {
    KeptServing {
        range: RangeId(record.range),
        record: Ok(record),
    }
}

/// A database whose files have the keys `b` to `c`, or `n` to `o` for range 3, and flush markers.
fn database(id: u64) -> StoredDatabase {
    let (first, last) = if id == 3 { ("n", "o") } else { ("b", "c") };
    let keys = |first: &'static [u8], last: &'static [u8]| KeyRange {
        start: std::ops::Bound::Included(Bytes::from_static(first)),
        end: std::ops::Bound::Included(Bytes::from_static(last)),
    };
    StoredDatabase {
        range: RangeId(id),
        files: StoredFiles::Keys(vec![
            keys(first.as_bytes(), last.as_bytes()),
            keys(FLUSH_MARKER_KEY, FLUSH_MARKER_KEY),
            keys(FLUSH_MARKER_KEY, last.as_bytes()),
        ]),
    }
}

/// The object and severity of each finding.
fn findings(contents: &StoreContents) -> Vec<(String, Severity)> {
    let findings = check(contents).findings;
    let findings = findings.into_iter();
    findings
        .map(|finding| (finding.object.clone(), finding.severity()))
        .collect()
}

/// No state that a kill or a power cut can leave is refused. `docs/format/map.md` has the same table.
#[test]
fn no_interrupted_step_is_refused() {
    let split = Split::new();
    let untouched = StoreContents::default();
    let steps: [(&str, StoreContents); 13] = [
        ("a new directory", untouched),
        ("the first version", split.store(1, &[], &[])),
        ("the first database", split.store(1, &[], &[1])),
        ("at rest before the split", split.store(1, &[1], &[1])),
        ("the split was begun", split.store(2, &[1], &[1])),
        ("one database was cloned", split.store(2, &[1], &[1, 3])),
        ("both were cloned", split.store(2, &[1], &[1, 2, 3])),
        ("the split was decided", split.store(3, &[1], &[1, 2, 3])),
        ("one serving record", split.store(3, &[1, 3], &[1, 2, 3])),
        ("both serving records", split.finished()),
        (
            "the old database is gone",
            split.store(3, &[1, 2, 3], &[2, 3]),
        ),
        (
            "its serving record is gone",
            split.store(3, &[2, 3], &[2, 3]),
        ),
        (
            "the deletion was recorded",
            split.store(4, &[2, 3], &[2, 3]),
        ),
    ];
    for (step, contents) in steps {
        let checked = check(&contents);
        let refused: Vec<_> = checked.findings_of(Severity::Refused).collect();
        assert!(refused.is_empty(), "{step}: {refused:?}");
    }
    // Two more states: the deletion of the serving record was not synced, and a compaction wrote a file after the
    // removal.
    let mut stray = split.store(4, &[1, 2, 3], &[1, 2, 3]);
    stray.ranges.databases[0].files = StoredFiles::NoManifest;
    for contents in [split.store(4, &[1, 2, 3], &[2, 3]), stray] {
        let warning = ("served/1.json".to_owned(), Severity::Warning);
        assert_eq!(findings(&contents), [warning]);
        assert_eq!(check(&contents).serving_outdated, [RangeId(1)]);
    }
}

#[test]
fn the_serving_records_of_a_decided_change_are_completed() {
    let split = Split::new();
    let checked = check(&split.store(3, &[1, 3], &[1, 2, 3]));
    let expected = ServingRecord::new(&spec(2, 2, "", Some("m")), 3);
    assert_eq!(checked.serving_missing, [expected]);
    assert_eq!(checked.newest, Some(split.decided));
}

const THIRD: &str = "map/00000000000000000003.json";
const SECOND: &str = "map/00000000000000000002.json";

#[test]
fn lost_versions_are_found() {
    let split = Split::new();
    let cases: [(&str, StoreContents); 7] = [
        (THIRD, split.store(2, &[1, 2, 3], &[1, 2, 3])),
        // The same loss, after range 1 was deleted.
        (THIRD, split.store(2, &[2, 3], &[2, 3])),
        (THIRD, split.store(1, &[2], &[1, 2, 3])),
        // Without any serving record, only the databases show that a version is missing.
        (SECOND, split.store(1, &[], &[1, 2, 3])),
        ("map/", split.store(0, &[1], &[])),
        ("map/", split.store(0, &[], &[1])),
        ("served/1.json", split.store(2, &[], &[1, 2, 3])),
    ];
    for (object, contents) in cases {
        let found = findings(&contents);
        let expected = (object.to_owned(), Severity::Refused);
        assert!(found.contains(&expected), "{object}: {found:?}");
    }
    for trace in [
        StoredRanges {
            logged: vec![RangeId(7)],
            ..StoredRanges::default()
        },
        StoredRanges {
            trashed: vec![RangeId(7)],
            ..StoredRanges::default()
        },
    ] {
        let mut contents = split.store(0, &[], &[]);
        contents.ranges = trace.clone();
        assert_eq!(
            findings(&contents),
            [("map/".to_owned(), Severity::Refused)]
        );
        let mut contents = split.finished();
        contents.ranges.logged = trace.logged;
        contents.ranges.trashed = trace.trashed;
        let fourth = "map/00000000000000000004.json".to_owned();
        assert_eq!(findings(&contents), [(fourth, Severity::Refused)]);
    }
}

#[test]
fn damage_is_found() {
    type Damage = fn(&Split, &mut StoreContents);
    let cases: [(&str, Severity, Damage); 10] = [
        (THIRD, Severity::Refused, |_, store| {
            store.map.versions[2].record = Err("cut".into());
        }),
        (SECOND, Severity::Warning, |_, store| {
            store.map.versions[1].record = Err("cut".into());
        }),
        (SECOND, Severity::Warning, |_, store| {
            store.map.versions.remove(1);
        }),
        (THIRD, Severity::Refused, |split, store| {
            let other = split.first.begin(ChangeRecord::Split {
                range: 1,
                at: "k".into(),
                left: 2,
                right: 3,
            });
            store.map.versions[1] = kept_version(&other);
        }),
        ("served/2.json", Severity::Warning, |_, store| {
            store.map.serving[1].record = Err("cut".into());
        }),
        ("served/2.json", Severity::Refused, |_, store| {
            let other = ServingRecord::new(&spec(2, 2, "", Some("k")), 3);
            store.map.serving[1] = kept_serving(other);
        }),
        ("range-3", Severity::Refused, |_, store| {
            store.ranges.databases.remove(2);
        }),
        ("range-3", Severity::Refused, |_, store| {
            store.ranges.databases[2].files = StoredFiles::NoManifest;
        }),
        ("range-3", Severity::Refused, |_, store| {
            store.ranges.databases[2].files = StoredFiles::Unreadable("cut".into());
        }),
        // The folders of two databases were exchanged.
        ("range-3", Severity::Refused, |_, store| {
            store.ranges.databases[2].files = database(2).files;
        }),
    ];
    let split = Split::new();
    assert_eq!(findings(&split.finished()), []);
    for (object, severity, damage) in cases {
        let mut contents = split.finished();
        damage(&split, &mut contents);
        assert_eq!(findings(&contents), [(object.to_owned(), severity)]);
    }
    // Files of an older copy, added to a newer store.
    let contents = split.store(4, &[1, 2, 3], &[1, 2, 3]);
    let added = ("served/1.json".to_owned(), Severity::Refused);
    assert_eq!(findings(&contents), [added]);
}

#[test]
fn a_finding_says_what_is_missing_and_what_to_do() {
    let split = Split::new();
    let findings = check(&split.store(2, &[1, 2, 3], &[1, 2, 3])).findings;
    assert_eq!(
        findings[0].to_string(),
        "map/00000000000000000003.json is missing: served/2.json names version 3, and the newest version in the store is 2; \
         copy this version and all later ones back from the backup or directory that this data directory is a copy of"
    );
}

#[test]
fn a_map_is_rebuilt_only_if_the_serving_records_determine_it() {
    let split = Split::new();
    let mut lost = split.finished();
    lost.map.versions.truncate(2);
    let record = rebuild(&lost).unwrap();
    assert_eq!(record.ranges, split.decided.ranges);
    assert_eq!(record.pending_deletion, [1]);
    assert_eq!((record.version, record.change), (4, None));
    assert_eq!((record.next_range, record.next_epoch), (4, Epoch(3)));

    let cases: [(StoreContents, RebuildError); 5] = [
        (
            split.store(0, &[1, 2], &[1, 2, 3]),
            RebuildError::Coverage("a range ends before the next one"),
        ),
        (
            split.store(0, &[1, 3], &[1, 3]),
            RebuildError::Coverage("the first range does not begin at the empty key"),
        ),
        (
            split.store(0, &[1], &[1, 2, 3]),
            RebuildError::Unexplained(RangeId(2)),
        ),
        (
            split.store(0, &[1, 2, 3], &[1, 2]),
            RebuildError::DatabaseMissing(RangeId(3)),
        ),
        (
            split.store(0, &[], &[]),
            RebuildError::Coverage("the first range does not begin at the empty key"),
        ),
    ];
    for (contents, expected) in cases {
        assert_eq!(rebuild(&contents).unwrap_err(), expected);
    }
    lost.map.serving[0].record = Err("cut".into());
    assert_eq!(
        rebuild(&lost).unwrap_err(),
        RebuildError::Unreadable(RangeId(1))
    );
}
