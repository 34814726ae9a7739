//! Copies the writes of the old ranges to the new ones.

use super::OpenRange;
use crate::error::ChangeRefused;
use bytes::Bytes;
use futures::future::join_all;
use partita_engine::{Batch, Write, WriteError};
use partita_range::{Follower, Range};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Writers may be blocked once at most this many bytes remain, because copying them takes a few milliseconds.
const FEW_BYTES: usize = 256 << 10;

/// The maximum number of rounds before writers are blocked. Copying is faster than client writes, so each round leaves
/// fewer bytes.
const ROUNDS_MAX: usize = 5;

/// The size of a batch of copied writes, in bytes.
const BATCH_BYTES: usize = 1 << 20;

/// Copies the writes of the old ranges since the change began, in rounds, until few bytes are left.
pub(super) async fn copy_most(from: &[Follower], to: &[OpenRange]) -> Result<(), ChangeRefused> {
    for _ in 0..ROUNDS_MAX {
        if copy(from, to).await? < FEW_BYTES {
            break;
        }
    }
    Ok(())
}

/// Copies the writes since the last call, and returns their bytes once they are durable in the new ranges.
pub(super) async fn copy(from: &[Follower], to: &[OpenRange]) -> Result<usize, ChangeRefused> {
    let mut copied = 0;
    let mut writing = Vec::new();
    for follower in from {
        let (writes, bytes) = follower.take().map_err(ChangeRefused::failed)?;
        copied += bytes;
        for (range, batch) in batches(writes, to)? {
            let written = partita_range::submit(&**range.engine(), batch).await;
            writing.push(written.map_err(ChangeRefused::failed)?);
        }
    }
    for written in join_all(writing).await {
        written
            .unwrap_or(Err(WriteError::Unknown))
            .map_err(ChangeRefused::failed)?;
    }
    Ok(copied)
}

/// The writes by new range, with only the last write of each key, because the new ranges are not served yet.
fn batches(
    writes: Vec<Write>,
    to: &[OpenRange],
) -> Result<Vec<(&Arc<Range>, Batch)>, ChangeRefused> {
    let last: BTreeMap<Bytes, Option<Bytes>> = writes
        .into_iter()
        .map(|write| (write.key, write.value))
        .collect();
    let mut batches = Vec::new();
    let mut filling: Vec<(&Arc<Range>, Batch)> = to
        .iter()
        .map(|opened| (&opened.served.range, Batch::new()))
        .collect();
    for (key, value) in last {
        let place = filling
            .iter_mut()
            .find(|(range, _)| range.bounds().contains(&key));
        // The new ranges must cover the old ranges. If not, the change fails, so that no row is lost.
        let (range, batch) = place.ok_or_else(misplaced)?;
        batch.push(Write { key, value });
        if batch.bytes() >= BATCH_BYTES {
            batches.push((*range, std::mem::take(batch)));
        }
    }
    batches.extend(filling.into_iter().filter(|(_, batch)| !batch.is_empty()));
    Ok(batches)
}

fn misplaced() -> ChangeRefused {
    ChangeRefused::Failed("a row is outside the new ranges".into())
}
