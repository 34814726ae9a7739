//! Pins: SlateDB checkpoints of many databases, taken at one point of the commit loop.
//!
//! ```text
//!  commit thread:  … group ─▶ group ─▶ │ each memtable is frozen, each bound noted │ ─▶ group ─▶ group …
//!                                      └──────────── no write begins ──────────────┘
//!  background:                           frozen memtables become files ─▶ one manifest each names the checkpoint
//! ```
//!
//! - Between two groups nothing is in flight, in any database. A checkpoint that begins there holds exactly the durable
//!   batches, each of them whole, and the checkpoints of several databases are consistent with each other.
//! - The files of a pin are never collected: SlateDB's garbage collection and detaching respect all checkpoints, and
//!   [`super::removal::remove`] keeps databases with a checkpoint.
//! - [`hold()`] makes the loop stand still before the checkpoints begin, until other processes stand still, too.
//! - A cancelled call may still create its pins. The caller compares [`pins`] with the pins in its records.

mod held;
mod request;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use slatedb::config::DbReaderOptions;
use slatedb::{Checkpoint, CheckpointHandle, DbReader, DbReaderMode};
use tokio::sync::oneshot;

use self::request::{Begun, NotBegun, PIN_NAME};
use super::admin::admin;
use super::commit::CommitQueue;
use super::core::Core;
use super::database::Database;
use super::names::database_path;
use super::read::Reader;
use super::{FLUSH_DEADLINE, scan, store_error};
use crate::{
    ChangeError, FileUse, KeyRange, PinId, Pinned, PinnedRows, RangeId, ReadError, Scan, ScanHint,
};

pub(super) use self::held::hold;
pub(super) use self::request::PinRequest;

/// The deadline for flushing rows in memory to files. On a full disk the flush waits until there is space.
const FILES_DEADLINE: Duration = FLUSH_DEADLINE;

/// Pins open databases at one point.
pub(super) async fn pin(
    core: &Core,
    queue: &CommitQueue,
    ranges: &[RangeId],
) -> Result<Pinned, ChangeError> {
    let begun = {
        // Under this lock the supervisor cannot reopen the databases during the pause. The files are written later
        // without the lock.
        let _change = core.lock_change().await;
        let (begun, beginning) = oneshot::channel();
        queue.pin(PinRequest {
            databases: databases(core, ranges)?,
            hold: None,
            begun,
        });
        beginning.await
    };
    written(begun.map_err(|_closed| ChangeError::Unavailable)?).await
}

/// The open databases of open ranges.
fn databases(core: &Core, ranges: &[RangeId]) -> Result<Vec<Arc<Database>>, ChangeError> {
    let database = |range: &RangeId| {
        let open = core.open_range(*range);
        let open = open.ok_or(ChangeError::State(*range))?;
        open.database().ok_or(ChangeError::Unavailable)
    };
    ranges.iter().map(database).collect()
}

/// Waits until the files and manifests of begun pins are written.
async fn written(begun: Begun) -> Result<Pinned, ChangeError> {
    let handles = begun.handles.map_err(|why| match why {
        NotBegun::Late => ChangeError::Late,
        NotBegun::HoldEnded => ChangeError::HoldEnded,
        NotBegun::Failed(error) => store_error(error),
    })?;
    let writing = futures::future::try_join_all(handles.into_iter().map(CheckpointHandle::wait));
    let written = tokio::time::timeout(FILES_DEADLINE, writing).await;
    let written = written.map_err(|_elapsed| ChangeError::Late)?;
    let pins = written
        .map_err(store_error)?
        .iter()
        .map(|made| PinId::new(&made.id.to_string()))
        .collect();
    Ok(Pinned {
        pins,
        pause: begun.pause,
    })
}

/// All pins of a range.
pub(super) async fn pins(core: &Core, range: RangeId) -> Result<Vec<PinId>, ChangeError> {
    let checkpoints = checkpoints(core, range).await?;
    let ids = checkpoints.iter();
    Ok(ids.map(|pin| PinId::new(&pin.id.to_string())).collect())
}

/// Releases a pin. A missing pin or database is not an error.
pub(super) async fn unpin(core: &Core, range: RangeId, pin: &PinId) -> Result<(), ChangeError> {
    for checkpoint in checkpoints(core, range).await? {
        if checkpoint.id.to_string() == pin.as_str() {
            let deleted = admin(core, range).delete_checkpoint(checkpoint.id).await;
            deleted.map_err(store_error)?;
        }
    }
    Ok(())
}

async fn checkpoints(core: &Core, range: RangeId) -> Result<Vec<Checkpoint>, ChangeError> {
    let manifest = admin(core, range).read_manifest(None).await;
    let Some(manifest) = manifest.map_err(store_error)? else {
        return Ok(Vec::new());
    };
    let all = manifest.checkpoints().iter();
    Ok(all
        .filter(|checkpoint| is_pin(checkpoint))
        .cloned()
        .collect())
}

pub(super) fn is_pin(checkpoint: &Checkpoint) -> bool {
    checkpoint.name.as_deref() == Some(PIN_NAME)
}

async fn find(core: &Core, range: RangeId, pin: &PinId) -> Result<Checkpoint, ChangeError> {
    let found = checkpoints(core, range).await?;
    let mut found = found.into_iter();
    found
        .find(|checkpoint| checkpoint.id.to_string() == pin.as_str())
        .ok_or(ChangeError::NotPinned(range))
}

/// Opens the rows of a pin.
pub(super) async fn open(
    core: &Core,
    range: RangeId,
    pin: &PinId,
) -> Result<Arc<dyn PinnedRows>, ChangeError> {
    let checkpoint = find(core, range, pin).await?;
    if core.context.settings.reads.use_own_reader() {
        let admin = admin(core, range);
        let manifest = admin.read_manifest(Some(checkpoint.manifest_id)).await;
        let manifest = manifest.map_err(store_error)?;
        let manifest = manifest.ok_or(ChangeError::NotPinned(range))?;
        let reader = Reader::of_manifest(&core.context, range, &manifest);
        return Ok(Arc::new(reader));
    }
    let cache = Arc::clone(&core.context.cache) as Arc<dyn slatedb::db_cache::DbCache>;
    let options = DbReaderOptions {
        // All rows of a pin are in files, and SlateDB cannot read Partita's WAL.
        skip_wal_replay: true,
        ..DbReaderOptions::default()
    };
    let reader = DbReader::builder(database_path(range), core.context.store_of(range))
        .with_reader_mode(DbReaderMode::Checkpoint(checkpoint.id))
        .with_options(options)
        .with_system_clock(Arc::clone(&core.context.clock) as _)
        .with_db_cache(cache, range.0)
        .build()
        .await;
    Ok(Arc::new(SlatePin {
        reader: reader.map_err(store_error)?,
    }))
}

/// The files of a pin; without a pin the current files of a range, none if its database is missing.
pub(super) async fn files(
    core: &Core,
    range: RangeId,
    pin: Option<&PinId>,
) -> Result<Vec<FileUse>, ChangeError> {
    let version = match pin {
        Some(pin) => Some(find(core, range, pin).await?.manifest_id),
        None => None,
    };
    let manifest = admin(core, range).read_manifest(version).await;
    let Some(manifest) = manifest.map_err(store_error)? else {
        return Ok(Vec::new());
    };
    let mut files: Vec<FileUse> = manifest
        .all_sst_views()
        .map(|view| FileUse {
            // Unique over all databases: 48 bits of time and 80 random bits.
            name: view.sst.id.value().to_string(),
            bytes: view.estimate_size(),
        })
        .collect();
    // A merged range can read two parts of the same file.
    files.sort_unstable();
    files.dedup_by(|a, b| a.name == b.name);
    Ok(files)
}

/// A pin that Partita's reader reads. The checkpoint protects its files.
#[async_trait]
impl PinnedRows for Reader {
    async fn scan(&self, range: KeyRange, hint: ScanHint) -> Result<Box<dyn Scan>, ReadError> {
        Ok(Self::scan(self, &range, hint))
    }
}

/// A pin that SlateDB reads.
struct SlatePin {
    reader: DbReader,
}

#[async_trait]
impl PinnedRows for SlatePin {
    async fn scan(&self, range: KeyRange, hint: ScanHint) -> Result<Box<dyn Scan>, ReadError> {
        scan::start(&self.reader, range, hint).await
    }
}

#[cfg(test)]
mod tests;
