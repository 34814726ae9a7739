//! Commits one group: splits the batches by range, writes all ranges at the same time, completes all batches together.

use std::sync::Arc;
use std::time::Duration;

use partita_rt::{Clock, SystemClock};
use partita_wal::RecordSize;
use slatedb::WriteBatch;

use super::queue::RangeBatch;
use crate::pipeline::Queued;
use crate::slate::core::Core;
use crate::slate::database::Database;
use crate::slate::open_range::OpenRange;
use crate::slate::wal_adapter::WalAdapter;
use crate::{Health, Refusal, WriteError};

/// The part of a group that belongs to one range.
struct GroupPart {
    open: Arc<OpenRange>,
    database: Arc<Database>,
    batches: Vec<Queued>,
    rows: usize,
    bytes: usize,
    failed: bool,
}

/// Commits a group and completes all its batches.
pub(super) async fn commit(core: &Core, group: Vec<RangeBatch>) {
    let parts = split_by_range(core, group);
    let Some(wal) = core.wal() else {
        for part in parts {
            let refusal = core.refusal(&part.open);
            refuse(core, part.batches, refusal);
        }
        return;
    };
    if let Err(refusal) = make_room(core, &wal, record_sizes(&parts)).await {
        for part in parts {
            refuse(core, part.batches, refusal);
        }
        return;
    }
    let writing = parts.iter().filter(|part| part.rows > 0);
    wal.begin_group(writing.map(|part| part.open.range));
    let started = SystemClock.monotonic();
    let parts = match <[GroupPart; 1]>::try_from(parts) {
        Ok([mut part]) => {
            write(&wal, &mut part).await;
            vec![part]
        }
        Err(mut parts) => {
            let writing = parts.iter_mut().map(|part| write(&wal, part));
            futures::future::join_all(writing).await;
            parts
        }
    };
    let elapsed = SystemClock.monotonic() - started;
    answer(core, parts, elapsed);
}

/// Splits the group by range. Refuses batches of ranges whose database is not open.
fn split_by_range(core: &Core, group: Vec<RangeBatch>) -> Vec<GroupPart> {
    let mut parts: Vec<GroupPart> = Vec::with_capacity(1);
    for RangeBatch { open, queued } in group {
        let (rows, bytes) = (queued.batch.len(), queued.batch.bytes());
        let known = parts.iter_mut().find(|part| part.open.range == open.range);
        if let Some(part) = known {
            part.rows += rows;
            part.bytes += bytes;
            part.batches.push(queued);
        } else if let Some(database) = open.database() {
            parts.push(GroupPart {
                open,
                database,
                batches: vec![queued],
                rows,
                bytes,
                failed: false,
            });
        } else {
            let refusal = core.refusal(&open);
            refuse(core, vec![queued], refusal);
        }
    }
    parts
}

/// The sizes of the records of a group. Computed before waiting for room, so that the waiting future is `Send`.
fn record_sizes(parts: &[GroupPart]) -> Vec<RecordSize> {
    let size = |part: &GroupPart| RecordSize {
        rows: part.rows,
        payload_bytes: part.bytes,
    };
    parts.iter().map(size).collect()
}

async fn make_room(core: &Core, wal: &WalAdapter, records: Vec<RecordSize>) -> Result<(), Refusal> {
    // An earlier group timed out waiting for the flush; later groups are refused without a wait.
    if core.health.get() == Health::Backlogged && wal.is_backlogged() {
        return Err(Refusal::Busy);
    }
    let room = wal.make_room(records.into_iter()).await;
    if let Err(refusal) = room {
        note_refusal(core, refusal);
    }
    room
}

/// Writes a part as one batch of its database. If two batches write the same key, the later batch wins.
async fn write(wal: &WalAdapter, part: &mut GroupPart) {
    if part.rows == 0 {
        return;
    }
    let mut merged = WriteBatch::new();
    let mut deletes = 0;
    for queued in &mut part.batches {
        for write in std::mem::take(&mut queued.batch).into_writes() {
            match write.value {
                Some(value) => merged.put_bytes(write.key, value),
                None => {
                    deletes += 1;
                    merged.delete(write.key);
                }
            }
        }
    }
    let range = part.open.range;
    if let Err(error) = wal.write(range, &part.database.db, merged).await {
        tracing::error!(%error, %range, "a commit failed; closing all databases");
        part.failed = true;
    }
    part.database.space.count_deletes(deletes);
}

/// Counts the group and completes its batches. If a part failed, wakes the supervisor, which reopens all databases.
fn answer(core: &Core, parts: Vec<GroupPart>, elapsed: Duration) {
    let (mut batches, mut rows, mut bytes) = (0, 0, 0);
    for part in &parts {
        if part.failed {
            core.counts.unknown(part.batches.len());
            core.fail();
        } else {
            batches += part.batches.len();
            rows += part.rows;
            bytes += part.bytes;
        }
    }
    if batches > 0 {
        core.counts.group(batches, rows, bytes);
    }
    if rows > 0 {
        let elapsed_us = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX);
        core.counts.sync_us.record(elapsed_us);
    }
    for part in parts {
        let result = if part.failed {
            Err(WriteError::Unknown)
        } else {
            Ok(())
        };
        for queued in part.batches {
            queued.answer(result);
        }
    }
}

/// If the disk or the WAL is full, sets the health of all databases accordingly. New writes are then refused at once,
/// until the supervisor finds space again.
fn note_refusal(core: &Core, refusal: Refusal) {
    let health = match refusal {
        Refusal::DiskFull => Health::DiskFull,
        Refusal::Busy => Health::Backlogged,
        _ => return,
    };
    if core.health.replace(Health::Healthy, health) {
        tracing::error!(
            why = health.as_str(),
            "refusing writes until the disk or the WAL has space"
        );
    }
}

fn refuse(core: &Core, batches: Vec<Queued>, refusal: Refusal) {
    core.counts.refused(batches.len());
    for queued in batches {
        queued.answer(Err(refusal.into()));
    }
}
