//! The documents in `golden/` are recorded answers of servers, with a few fields edited to show every variant. The
//! types must read each document and write the same JSON: no field may be lost, renamed, or turned from `null` to
//! absent.

use super::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Reads a document, writes it again and compares both.
fn golden<T: Serialize + DeserializeOwned>(text: &str) -> T {
    let document: Value = serde_json::from_str(text).unwrap();
    let typed: T = serde_json::from_str(text).unwrap();
    let again = serde_json::to_value(&typed).unwrap();
    assert_eq!(again, document);
    typed
}

#[test]
fn status() {
    let status: Status = golden(include_str!("golden/status.json"));
    assert_eq!(status.state, ServerState::Ready);
    assert_eq!(status.busy["partition-target"], 146);
    let change = status.ranges.unwrap().change.unwrap();
    assert_eq!(change.to_string(), "range 3 is being split into 8 and 9");
    assert_eq!(status.damaged_files.unwrap()[0].range, 3);
    let starting: Status = golden(include_str!("golden/status_starting.json"));
    assert_eq!(starting.state.as_str(), "starting");
    assert_eq!((starting.engine, starting.store.path), (None, None));
    assert_eq!(starting.damaged_files, None, "absent from older servers");
}

#[test]
fn ranges() {
    let ranges: Ranges = golden(include_str!("golden/ranges.json"));
    let start = ranges.ranges[1].start.as_ref().unwrap();
    assert_eq!(start.to_string(), "people2 'p5'");
    assert_eq!(ranges.ranges[1].growth[0].pattern, GrowthPattern::Spread);
    golden::<SplitResult>(include_str!("golden/split.json"));
    golden::<MergeResult>(include_str!("golden/merge.json"));
    golden::<CheckpointResult>(include_str!("golden/checkpoint.json"));
    golden::<ActionDone>(include_str!("golden/action_done.json"));
    golden::<Finalized>(include_str!("golden/finalized.json"));
}

#[test]
fn hot() {
    let hot: Hot = golden(include_str!("golden/hot.json"));
    assert_eq!(hot.splits[0].advice, AdviceKind::GrowsAtOneEnd);
    assert_eq!(hot.splits[1].advice, AdviceKind::NotEnoughLoad);
    assert_eq!(hot.growth[0].pattern, GrowthPattern::AppendOnly);
}

#[test]
fn heat() {
    let by_range: Heat = golden(include_str!("golden/heat.json"));
    assert!(matches!(
        by_range.rows[0],
        HeatRow::Range { start: None, .. }
    ));
    let by_partition: Heat = golden(include_str!("golden/heat_partitions.json"));
    assert!(matches!(by_partition.rows[0], HeatRow::Partition { .. }));
    assert_eq!(by_partition.rows[0].values()[..2], [None, None]);
    for metric in HeatMetric::ALL {
        assert_eq!(HeatMetric::from_name(metric.name()), Some(metric));
    }
}

#[test]
fn snapshots() {
    let list: SnapshotList = golden(include_str!("golden/snapshots.json"));
    assert_eq!(list.unreadable.len(), 1);
    let details: SnapshotDetails = golden(include_str!("golden/snapshot.json"));
    assert_eq!(details.snapshot, list.snapshots[0]);
    golden::<SnapshotCreated>(include_str!("golden/snapshot_created.json"));
}

#[test]
fn jobs() {
    let JobList { jobs } = golden(include_str!("golden/jobs.json"));
    let results: Vec<_> = jobs.iter().map(|job| job.result.as_ref()).collect();
    assert!(matches!(
        results[..],
        [
            None,
            Some(JobResult::Unpacked { .. }),
            None,
            Some(JobResult::BackedUp(BackupResult {
                warning: Some(_),
                ..
            })),
            Some(JobResult::Restored { .. })
        ]
    ));
    assert_eq!(jobs[0].state, JobState::Failed);
}

#[test]
fn errors() {
    let refused: ErrorDocument = golden(include_str!("golden/error.json"));
    assert_eq!(refused.error.code, "NoSuchJob");
    golden::<NoSuchPage>(include_str!("golden/no_such_page.json"));
}

#[test]
fn unknown_enum_values_are_kept() {
    let state: ServerState = serde_json::from_value(json!("draining")).unwrap();
    assert_eq!(state.as_str(), "draining");
    assert_eq!(serde_json::to_value(state).unwrap(), "draining");
    let advice: AdviceKind = serde_json::from_value(json!("move")).unwrap();
    assert_eq!(advice, AdviceKind::Other("move".to_owned()));
    let change = json!({ "kind": "move", "range": 1, "to": "b" });
    assert_eq!(
        serde_json::from_value::<RangeChange>(change).unwrap(),
        RangeChange::Other
    );
}

#[test]
fn unknown_action_parameters_are_refused() {
    let params = RangeActionParams {
        with: Some(3),
        ..RangeActionParams::default()
    };
    assert_eq!(serde_json::to_value(params).unwrap(), json!({ "with": 3 }));
    let misspelt = json!({ "wiht": 3 });
    assert!(serde_json::from_value::<RangeActionParams>(misspelt).is_err());
    let restore = json!({ "table": "people", "as": "again" });
    let restore: SnapshotActionParams = serde_json::from_value(restore).unwrap();
    assert_eq!(restore.into.as_deref(), Some("again"));
    assert!(serde_json::from_value::<SnapshotActionParams>(json!({ "into": "x" })).is_err());
}
