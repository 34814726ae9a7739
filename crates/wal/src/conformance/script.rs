//! Random scripts of groups, releases, failures and crashes, compared with a model of the records that must be kept.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;

use super::{Subject, add, long_row, open, size};
use crate::{AppendFault, RangeId, Record, Resume, Row, Wal, WalId};

/// One step of a script.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Appends a group: for each range, a record with a value of this length and one of a seventh of it.
    Group(BTreeMap<u64, usize>),
    /// Appends a group that fails, and reopens the WAL.
    Fail(BTreeMap<u64, usize>, AppendFault),
    /// Releases the records of a range, except this many of the newest.
    Release(u64, u64),
    /// Drops and reopens the WAL.
    Crash,
    /// Maintains the WAL.
    Maintain,
}

pub(crate) fn steps() -> impl Strategy<Value = Vec<Step>> {
    let group = || proptest::collection::btree_map(0_u64..4, 1_usize..5_000, 1..4);
    let fault = prop_oneof![
        Just(AppendFault::Durable),
        Just(AppendFault::Lost),
        Just(AppendFault::Torn)
    ];
    let step = prop_oneof![
        8 => group().prop_map(Step::Group),
        1 => (group(), fault).prop_map(|(group, fault)| Step::Fail(group, fault)),
        3 => (0_u64..4, 0_u64..4).prop_map(|(range, kept)| Step::Release(range, kept)),
        1 => Just(Step::Crash),
        1 => Just(Step::Maintain),
    ];
    proptest::collection::vec(step, 1..40)
}

/// The model of a range: the records that it wrote.
#[derive(Default)]
struct Written {
    /// The rows of its acknowledged records, from number 1.
    records: Vec<Vec<Row>>,
    released_up_to: u64,
}

type Model = BTreeMap<u64, Written>;

/// Runs `steps` on an empty storage.
///
/// # Panics
/// When an acknowledged record that was not released is missing, or an unexpected record is read back.
pub(crate) async fn play(subject: &dyn Subject, steps: &[Step]) {
    let mut model = Model::new();
    let mut wal = open(subject).await;
    for step in steps {
        match step {
            Step::Group(group) => {
                let rows = add_group(&*wal, &model, group).await;
                wal.append_group().await.expect("the group is appended");
                acknowledge(&mut model, rows);
            }
            Step::Fail(group, fault) => {
                let rows = add_group(&*wal, &model, group).await;
                subject.fail_next_append(*fault);
                wal.append_group().await.expect_err("the append fails");
                drop(wal);
                let opened = subject.storage().open(Resume::AfterFailure).await;
                wal = opened.expect("the WAL opens");
                adopt_survivors(&*wal, &mut model, rows, *fault);
            }
            Step::Release(range, kept) => {
                let written = model.entry(*range).or_default();
                let up_to = (written.records.len() as u64).saturating_sub(*kept);
                written.released_up_to = up_to.max(written.released_up_to);
                wal.release(RangeId(*range), WalId(up_to));
            }
            Step::Crash => wal = reopen(wal, subject, &model).await,
            Step::Maintain => wal.maintain().await.expect("there is space"),
        }
    }
    reopen(wal, subject, &model).await;
}

async fn reopen(wal: Arc<dyn Wal>, subject: &dyn Subject, model: &Model) -> Arc<dyn Wal> {
    drop(wal);
    let wal = open(subject).await;
    for (range, written) in model {
        check(&*wal, *range, written);
    }
    wal
}

async fn add_group(
    wal: &dyn Wal,
    model: &Model,
    group: &BTreeMap<u64, usize>,
) -> BTreeMap<u64, Vec<Row>> {
    let rows: BTreeMap<u64, Vec<Row>> = group
        .iter()
        .map(|(range, bytes)| (*range, vec![long_row(*bytes), long_row(bytes / 7)]))
        .collect();
    let mut sizes = rows.values().map(|rows| size(rows));
    wal.make_room(&mut sizes).await.expect("there is room");
    for (range, rows) in &rows {
        let id = model.get(range).map_or(0, |it| it.records.len()) as u64 + 1;
        add(wal, RangeId(*range), id, rows).expect("the record fits");
    }
    rows
}

fn acknowledge(model: &mut Model, rows: BTreeMap<u64, Vec<Row>>) {
    for (range, rows) in rows {
        model.entry(range).or_default().records.push(rows);
    }
}

/// Adds those records of a failed group that were read back to the model. They must be the first records of the group.
fn adopt_survivors(
    wal: &dyn Wal,
    model: &mut Model,
    rows: BTreeMap<u64, Vec<Row>>,
    fault: AppendFault,
) {
    let count = rows.len();
    let mut survived = 0;
    for (at, (range, rows)) in rows.into_iter().enumerate() {
        let written = model.entry(range).or_default();
        let next = written.records.len() as u64 + 1;
        if wal.last_of(RangeId(range)) == Some(WalId(next)) {
            assert_eq!(
                at, survived,
                "the surviving records are the start of the group"
            );
            survived += 1;
            written.records.push(rows);
        }
    }
    match fault {
        AppendFault::Durable => assert_eq!(survived, count),
        AppendFault::Lost => assert_eq!(survived, 0),
        // If only padding is torn, all records survive.
        AppendFault::Torn => assert!(survived <= count),
    }
    for (range, written) in &*model {
        check(wal, *range, written);
    }
}

fn check(wal: &dyn Wal, range: u64, written: &Written) {
    let records = wal.take_recovered(RangeId(range));
    let id = |record: Option<&Record>| record.map(|record| record.header.wal_id.0);
    let written_last = written.records.len() as u64;
    let first = id(records.front()).unwrap_or(written_last + 1);
    assert!(
        first <= written.released_up_to + 1,
        "range {range} lost record {first}"
    );
    // A log of an earlier life may be kept after the released records that followed were deleted.
    let last = id(records.back()).unwrap_or(written_last);
    assert!(
        last == written_last || last <= written.released_up_to,
        "range {range} lost the records after {last}"
    );
    assert_eq!(records.len() as u64, last + 1 - first);
    for (id, record) in (first..).zip(&records) {
        assert_eq!(record.header.wal_id, WalId(id));
        let rows: Vec<Row> = record.rows().map(|row| row.expect("a row")).collect();
        let at = usize::try_from(id - 1).expect("a small number");
        assert_eq!(Some(&rows), written.records.get(at));
    }
}
