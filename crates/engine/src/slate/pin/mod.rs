//! Pins: checkpoints of SlateDB, taken of many databases at one point of the commit loop.
//!
//! ```text
//!  commit thread:  … group ─▶ group ─▶ │ each memtable is frozen, each bound noted │ ─▶ group ─▶ group …
//!                                      └────────── nobody's writes begin ──────────┘
//!  background:                           frozen memtables become files ─▶ one manifest each names the checkpoint
//! ```
//!
//! - Between two groups nothing is in flight, in any database. So a checkpoint that is begun there holds exactly what was
//!   acknowledged or about to be, and no batch in part; those of several databases fit each other.
//! - What a pin names is never collected: SlateDB's garbage collection and detaching heed all checkpoints, and
//!   [`super::cloning::remove`] removes no database that has one.
//! - A pin that was given up too late may still come to be. Whoever keeps pins compares [`pins`] with what it knows.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use partita_rt::{Clock, SystemClock};
use slatedb::config::{CheckpointOptions, CheckpointScope, DbReaderOptions};
use slatedb::{Checkpoint, CheckpointHandle, DbReader, DbReaderMode};
use tokio::sync::oneshot;

use super::cloning::{admin, refused};
use super::commit::CommitQueue;
use super::core::Core;
use super::open::database_path;
use super::{FLUSH_DEADLINE, Opened, scan};
use crate::{
    ChangeError, FileUse, KeyRange, PinId, Pinned, PinnedRows, RangeId, ReadError, Scan, ScanHint,
};

/// What our checkpoints are called, apart from those of clones and compactions.
const PIN_NAME: &str = "pin";

/// How long the commit loop stands still at most. It is a matter of microseconds unless the store is slow: the task that
/// writes a database's manifest must take note.
const PAUSE_MAX: Duration = Duration::from_millis(250);

/// How long what is in memory may take to become files. On a full disk it takes until there is room.
const FILES_DEADLINE: Duration = FLUSH_DEADLINE;

/// A wish of the commit loop: stand still for a moment.
pub(super) struct Cut {
    databases: Vec<Arc<Opened>>,
    begun: oneshot::Sender<Begun>,
}

/// What came of it.
struct Begun {
    /// `None` when it would have taken too long.
    handles: Option<Result<Vec<CheckpointHandle>, slatedb::Error>>,
    pause: Duration,
}

impl Cut {
    /// Begins the checkpoints. Runs on the commit thread, between two groups.
    pub(super) async fn make(self) {
        let options = CheckpointOptions {
            lifetime: None,
            source: None,
            name: Some(PIN_NAME.to_owned()),
        };
        let began = SystemClock.monotonic();
        let beginning = self
            .databases
            .iter()
            .map(|opened| opened.db.begin_checkpoint(CheckpointScope::All, &options));
        let beginning = futures::future::try_join_all(beginning);
        let handles = tokio::time::timeout(PAUSE_MAX, beginning).await.ok();
        let pause = SystemClock.monotonic() - began;
        // Whoever asked may have gone; then the pins are nobody's, and are found by that.
        let _ = self.begun.send(Begun { handles, pause });
    }
}

/// Pins open databases at one point.
pub(super) async fn pin(
    core: &Core,
    queue: &CommitQueue,
    ranges: &[RangeId],
) -> Result<Pinned, ChangeError> {
    let (handles, pause) = {
        // Nobody opens the data anew meanwhile; but that need not wait for the files.
        let _changing = core.change().await;
        let mut databases = Vec::with_capacity(ranges.len());
        for range in ranges {
            let slot = core.slot(*range).ok_or(ChangeError::State(*range))?;
            databases.push(slot.opened().ok_or(ChangeError::Unavailable)?);
        }
        let (begun, beginning) = oneshot::channel();
        queue.cut(Cut { databases, begun });
        let begun = beginning
            .await
            .map_err(|_closed| ChangeError::Unavailable)?;
        let handles = begun.handles.ok_or(ChangeError::Late)?;
        (handles.map_err(refused)?, begun.pause)
    };
    let writing = futures::future::try_join_all(handles.into_iter().map(CheckpointHandle::wait));
    let written = tokio::time::timeout(FILES_DEADLINE, writing).await;
    let written = written.map_err(|_elapsed| ChangeError::Late)?;
    let pins = written
        .map_err(refused)?
        .iter()
        .map(|made| PinId::new(&made.id.to_string()))
        .collect();
    Ok(Pinned { pins, pause })
}

/// The pins of a range, whoever made them.
pub(super) async fn pins(core: &Core, range: RangeId) -> Result<Vec<PinId>, ChangeError> {
    let checkpoints = checkpoints(core, range).await?;
    let ids = checkpoints.iter();
    Ok(ids.map(|pin| PinId::new(&pin.id.to_string())).collect())
}

/// Lets go of a pin; one that is gone, or whose database is, is no error.
pub(super) async fn unpin(core: &Core, range: RangeId, pin: &PinId) -> Result<(), ChangeError> {
    for checkpoint in checkpoints(core, range).await? {
        if checkpoint.id.to_string() == pin.as_str() {
            let deleted = admin(core, range).delete_checkpoint(checkpoint.id).await;
            deleted.map_err(refused)?;
        }
    }
    Ok(())
}

async fn checkpoints(core: &Core, range: RangeId) -> Result<Vec<Checkpoint>, ChangeError> {
    let manifest = admin(core, range).read_manifest(None).await;
    let Some(manifest) = manifest.map_err(refused)? else {
        return Ok(Vec::new());
    };
    let ours = manifest.checkpoints().iter();
    Ok(ours
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

/// The rows of a pin.
pub(super) async fn open(
    core: &Core,
    range: RangeId,
    pin: &PinId,
) -> Result<Arc<dyn PinnedRows>, ChangeError> {
    let checkpoint = find(core, range, pin).await?;
    let cache = Arc::clone(&core.cache) as Arc<dyn slatedb::db_cache::DbCache>;
    let options = DbReaderOptions {
        // All that it pins is in files; the log is not SlateDB's.
        skip_wal_replay: true,
        ..DbReaderOptions::default()
    };
    let reader = DbReader::builder(database_path(range), Arc::clone(&core.home.store))
        .with_reader_mode(DbReaderMode::Checkpoint(checkpoint.id))
        .with_options(options)
        .with_system_clock(Arc::clone(&core.clock))
        .with_db_cache(cache, range.0)
        .build()
        .await;
    Ok(Arc::new(SlatePin {
        reader: reader.map_err(refused)?,
    }))
}

/// The files of a pin, or of a range as it is now. None when there is no such database.
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
    let Some(manifest) = manifest.map_err(refused)? else {
        return Ok(Vec::new());
    };
    let mut files: Vec<FileUse> = manifest
        .all_sst_views()
        .map(|view| FileUse {
            // Unique in all databases: 48 bits of time and 80 of chance.
            name: view.sst.id.value().to_string(),
            bytes: view.estimate_size(),
        })
        .collect();
    // A merged range can see a file in two pieces.
    files.sort_unstable();
    files.dedup_by(|a, b| a.name == b.name);
    Ok(files)
}

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
