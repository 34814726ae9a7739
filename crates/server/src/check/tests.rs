use partita_cluster::Epoch;
use partita_engine::slate::{FileFault, StoredRecords, WalId};
use partita_range::Bounds;

use super::*;

/// A check of a store with range 1, which ends before the key `m`. Its database has the rows of the WAL records 1 to
/// 10.
fn one_range() -> (Check, BTreeMap<RangeId, CheckedDatabase>) {
    let spec = RangeSpec {
        id: RangeId(1),
        epoch: Epoch(1),
        bounds: Bounds {
            start: bytes::Bytes::new(),
            end: Some("m".into()),
        },
    };
    let check = Check {
        served: BTreeMap::from([(spec.id, spec)]),
        ..Check::default()
    };
    let database = CheckedDatabase {
        flushed_up_to: Some(WalId(10)),
        ..CheckedDatabase::default()
    };
    (check, BTreeMap::from([(RangeId(1), database)]))
}

fn records(first: u64, last: u64, missing: Option<u64>, key: &'static str) -> StoredLog {
    let records = StoredRecords {
        first: WalId(first),
        last: WalId(last),
        missing: missing.map(WalId),
        keys: Some(("a".into(), key.into())),
    };
    StoredLog {
        is_new: false,
        ranges: BTreeMap::from([(RangeId(1), records)]),
    }
}

fn found_in_log(log: &StoredLog) -> Vec<Finding> {
    let (mut check, databases) = one_range();
    check.log_against_databases(log, &databases);
    check.findings
}

#[test]
fn a_log_that_continues_the_files_is_sound() {
    for log in [
        records(1, 9, None, "b"),
        records(3, 15, None, "b"),
        records(11, 15, None, "b"),
        // The gap is before the first record that a start replays, so no record is missing.
        records(3, 15, Some(5), "b"),
    ] {
        assert_eq!(found_in_log(&log), []);
    }
}

#[test]
fn missing_records_of_the_log_are_damage() {
    for (log, problem) in [
        (
            records(13, 15, None, "b"),
            "lacks the records 11 to 12 of range 1",
        ),
        (
            records(3, 15, Some(12), "b"),
            "lacks the records 12 to 12 of range 1",
        ),
    ] {
        let found = found_in_log(&log);
        assert_eq!(found[0].problem, problem);
        assert_eq!(
            (found[0].severity, found[0].range),
            (Severity::Damage, Some(1))
        );
    }
    let empty = StoredLog {
        is_new: true,
        ..StoredLog::default()
    };
    let found = found_in_log(&empty);
    assert!(found[0].problem.contains("empty or missing"), "{found:?}");
}

#[test]
fn rows_of_the_log_outside_their_range_are_damage() {
    let found = found_in_log(&records(11, 15, None, "m"));
    assert!(found[0].problem.contains("outside the range"), "{found:?}");
    assert_eq!(found[0].severity, Severity::Damage);
}

#[test]
fn a_damaged_file_is_as_bad_as_its_purpose() {
    let data = |is_live| FileKind::Data {
        keys: Some(("a".into(), "b".into())),
        is_live,
    };
    let cases = [
        (FileKind::Manifest, Severity::Damage, Severity::Warning),
        (data(true), Severity::Damage, Severity::Warning),
        (data(false), Severity::Warning, Severity::Warning),
        (
            FileKind::OldManifest { is_needed: true },
            Severity::Warning,
            Severity::Warning,
        ),
        (
            FileKind::OldManifest { is_needed: false },
            Severity::Note,
            Severity::Note,
        ),
        (FileKind::Compactions, Severity::Damage, Severity::Note),
        (FileKind::Witness, Severity::Warning, Severity::Warning),
        (FileKind::Unread, Severity::Warning, Severity::Warning),
    ];
    for (kind, of_served, of_other) in cases {
        let fault = FileFault {
            file: "store/range-1/x".to_owned(),
            kind,
            problem: "it is missing".to_owned(),
        };
        for (is_served, expected) in [(true, of_served), (false, of_other)] {
            let found = Finding::of_file(RangeId(1), is_served, &fault);
            assert_eq!(found.severity, expected, "{fault:?}, served: {is_served}");
            assert_eq!(found.range, Some(1));
        }
    }
}

#[test]
fn a_file_of_several_ranges_is_damage_if_one_of_them_is_served() {
    let (mut check, _) = one_range();
    let fault = FileFault {
        file: "store/range-1/compacted/a.sst".to_owned(),
        kind: FileKind::Data {
            keys: None,
            is_live: true,
        },
        problem: "it is missing".to_owned(),
    };
    for (range, is_served) in [(1, true), (2, false)] {
        let found = Finding::of_file(RangeId(range), is_served, &fault);
        check.findings.push(found);
    }
    check.drop_repeated();
    assert_eq!(check.findings.len(), 1);
    assert_eq!(check.findings[0].severity, Severity::Damage);
}

#[test]
fn a_finding_says_what_it_means_and_what_to_do() {
    let fault = FileFault {
        file: "store/range-1/compacted/a.sst".to_owned(),
        kind: FileKind::Data {
            keys: Some(("a\0".into(), "b".into())),
            is_live: true,
        },
        problem: "it is missing".to_owned(),
    };
    let found = Finding::of_file(RangeId(1), true, &fault);
    assert_eq!(found.keys.as_deref(), Some(r#""a\x00" to "b""#));
    assert_eq!(
        found.to_string(),
        "damage: store/range-1/compacted/a.sst: it is missing; the rows of these keys that are in the file are lost; \
         reads that need it get 500, all other rows are served; restore the file from a copy of this data directory, \
         or restore a backup (partita restore)"
    );
}

#[test]
fn findings_of_statistics_and_snapshots_are_warnings() {
    for found in [
        Finding::of_heat("store/heat/a".to_owned(), "damaged"),
        Finding::of_snapshot("store/snapshots/a.json".to_owned(), "damaged"),
    ] {
        assert_eq!(found.severity, Severity::Warning);
        assert!(!found.remedy.is_empty());
    }
    let note = Finding::note("a", "is unknown", "it is ignored");
    assert_eq!(note.to_string(), "note: a: is unknown; it is ignored");
}
