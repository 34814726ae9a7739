//! Bringing new ranges up to date with what is written to those they will replace.

use super::ChangeRefused;
use super::change::{Opened, failed};
use bytes::Bytes;
use futures::future::join_all;
use partita_engine::{Batch, Write, WriteError};
use partita_range::{Follower, Range};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::oneshot;

/// Bytes of rows that are copied in some milliseconds, so that writers may wait for them.
const FEW_BYTES: usize = 256 << 10;

/// Rounds before writers are made to wait. Copying is quicker than writing for clients, so each leaves less than the one before.
const ROUNDS_MAX: usize = 5;

/// Bytes of one batch.
const BATCH_BYTES: usize = 1 << 20;

/// Copies what was written to the old ranges while the new ones were made, and what was written while that was copied, until
/// little is left.
pub(super) async fn copy_most(from: &[Follower], to: &Opened) -> Result<(), ChangeRefused> {
    for _ in 0..ROUNDS_MAX {
        if copy(from, to).await? < FEW_BYTES {
            break;
        }
    }
    Ok(())
}

/// Copies what was written to the old ranges since the last time, and returns its bytes. In the new ranges it is durable then.
pub(super) async fn copy(from: &[Follower], to: &Opened) -> Result<usize, ChangeRefused> {
    let mut copied = 0;
    let mut writing = Vec::new();
    for follower in from {
        let (writes, bytes) = follower.take().map_err(failed)?;
        copied += bytes;
        for (range, batch) in batches(writes, to)? {
            writing.push(write(range, batch).await.map_err(failed)?);
        }
    }
    for written in join_all(writing).await {
        written
            .unwrap_or(Err(WriteError::Unknown))
            .map_err(failed)?;
    }
    Ok(copied)
}

/// The writes by the new ranges they lie in: of each key the last one, because nobody reads those ranges yet.
fn batches(writes: Vec<Write>, to: &Opened) -> Result<Vec<(&Arc<Range>, Batch)>, ChangeRefused> {
    let last: BTreeMap<Bytes, Option<Bytes>> = writes
        .into_iter()
        .map(|write| (write.key, write.value))
        .collect();
    let mut batches = Vec::new();
    let mut filling: Vec<(&Arc<Range>, Batch)> = to
        .iter()
        .map(|(served, _)| (&served.range, Batch::new()))
        .collect();
    for (key, value) in last {
        let place = filling
            .iter_mut()
            .find(|(range, _)| range.bounds().contains(&key));
        // The new ranges lie where the old ones lay; if they do not, nothing may be lost by it.
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
    ChangeRefused::Failed("a row lies in none of the new ranges".into())
}

/// Submits a batch to a range that nobody else writes to; what became of it comes later.
async fn write(
    range: &Arc<Range>,
    batch: Batch,
) -> Result<oneshot::Receiver<Result<(), WriteError>>, WriteError> {
    let permit = range.engine().reserve(batch.bytes()).await?;
    let (answer, answered) = oneshot::channel();
    let done = Box::new(move |result| {
        // Nobody listens when the change was given up.
        let _ = answer.send(result);
    });
    permit.submit(batch, done);
    Ok(answered)
}
