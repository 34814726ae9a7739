//! Writes a backup, or resumes an interrupted backup.

use bytes::Bytes;
use futures::future::BoxFuture;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt as _, PutMode};
use partita_rt::place;
use std::sync::Arc;

use super::manifest::{Begun, Manifest, Origin, PartEntry, part_name, pretty, sha256};
use super::part::{Part, row_bytes};
use super::user_rows::user_rows;
use super::{BEGUN, BackupError, CHECKSUMS, MANIFEST, Note, Progress};
use crate::{SnapshotReader, SnapshotScan};

/// Bytes of keys and values after which a part ends. A resumed backup copies at most about this much again. A part is
/// in memory twice: as rows and as a file.
pub(super) const PART_BYTES: usize = 16 << 20;

/// The maximum number of rows read from the snapshot at a time.
const CHUNK_ROWS: usize = 4096;

/// A complete backup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Files of rows.
    pub parts: u64,
    /// Parts kept from an earlier, interrupted attempt.
    pub kept: u64,
    /// Entities and messages in all parts.
    pub rows: u64,
    /// Bytes of the keys and values of all rows, also of the catalog.
    pub row_bytes: u64,
    /// Bytes of all parts.
    pub bytes: u64,
}

/// Copies a snapshot into an empty object store, or resumes an interrupted copy, whose complete parts are kept. Calls
/// `note` after each part. Cancel safe: the next attempt resumes.
///
/// # Errors
/// [`BackupError`]; a retry resumes.
pub fn write<'a>(
    snapshot: &'a SnapshotReader,
    store: &'a Arc<dyn ObjectStore>,
    note: Note<'a>,
) -> BoxFuture<'a, Result<Written, BackupError>> {
    Box::pin(async move { write_parts(snapshot, store, PART_BYTES, note).await })
}

/// [`write()`], in parts of `part_bytes`.
pub(super) async fn write_parts(
    snapshot: &SnapshotReader,
    store: &Arc<dyn ObjectStore>,
    part_bytes: usize,
    note: Note<'_>,
) -> Result<Written, BackupError> {
    let origin = Origin::of(snapshot.record());
    begin(&**store, &origin).await?;
    let mut writer = Writer {
        snapshot,
        store,
        part_bytes,
        origin,
        manifest: Manifest::new(snapshot.record()),
        kept: 0,
        user_rows: 0,
        last: Bytes::new(),
        scan: None,
    };
    while writer.part().await? {
        note(Progress {
            rows: writer.user_rows,
            bytes: writer.manifest.row_bytes,
        });
    }
    let user_rows = writer.user_rows;
    let manifest = writer.manifest;
    let checksums = manifest.checksums();
    store.put(&Path::from(CHECKSUMS), checksums.into()).await?;
    store
        .put(&Path::from(MANIFEST), manifest.bytes().into())
        .await?;
    Ok(Written {
        parts: manifest.parts.len() as u64,
        kept: writer.kept,
        rows: user_rows,
        row_bytes: manifest.row_bytes,
        bytes: manifest.parts.iter().map(|part| part.bytes).sum(),
    })
}

/// Stores which snapshot the backup copies, or checks that the destination already names the same snapshot.
async fn begin(store: &dyn ObjectStore, origin: &Origin) -> Result<(), BackupError> {
    let begun = Begun::new(origin.clone());
    let (path, bytes) = (Path::from(BEGUN), pretty(&begun));
    match store
        .put_opts(&path, bytes.into(), PutMode::Create.into())
        .await
    {
        Ok(_) => return Ok(()),
        Err(object_store::Error::AlreadyExists { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    let found = place::read(store, BEGUN).await?.unwrap_or_default();
    match serde_json::from_slice::<Begun>(&found) {
        Ok(found) if found == begun => Ok(()),
        Ok(found) => Err(BackupError::Occupied(format!(
            "{} of {}",
            found.snapshot.name, found.snapshot.created
        ))),
        Err(error) => Err(BackupError::Damaged(format!("{BEGUN}: {error}"))),
    }
}

struct Writer<'s> {
    snapshot: &'s SnapshotReader,
    store: &'s Arc<dyn ObjectStore>,
    part_bytes: usize,
    origin: Origin,
    manifest: Manifest,
    kept: u64,
    /// Entities and messages in all parts.
    user_rows: u64,
    /// The last key of the last part.
    last: Bytes,
    /// The scan of the rows after `last`; `None` before the first part that is not kept from an earlier attempt.
    scan: Option<SnapshotScan>,
}

impl Writer<'_> {
    /// Keeps or writes the next part. Returns `false` when there are no more rows.
    async fn part(&mut self) -> Result<bool, BackupError> {
        let number = self.manifest.parts.len() as u64 + 1;
        let name = part_name(number);
        if let Some(file) = place::read(&**self.store, &name).await? {
            let (file, part) = decoded(file).await?;
            let fits = |part: &Part| {
                part.snapshot == self.origin.id_bytes()
                    && part.number == number
                    && part.after == self.last
                    && !part.rows.is_empty()
            };
            if let Some(part) = part.filter(fits) {
                self.scan = None;
                self.kept += 1;
                self.note(name, &file, &part);
                return Ok(true);
            }
        }
        let rows = self.rows().await?;
        if rows.is_empty() {
            return Ok(false);
        }
        let part = Part {
            snapshot: self.origin.id_bytes(),
            number,
            after: self.last.clone(),
            rows,
        };
        let encoding = partita_rt::threads::spawn_blocking(move || (part.encode(), part));
        let (file, part) = encoding.await.map_err(|error| broken(&error))?;
        let file = Bytes::from(file.map_err(|error| broken(&error))?);
        self.store
            .put(&Path::from(name.as_str()), file.clone().into())
            .await?;
        self.note(name, &file, &part);
        Ok(true)
    }

    fn note(&mut self, name: String, file: &Bytes, part: &Part) {
        if let Some((last, _)) = part.rows.last() {
            self.last = last.clone();
        }
        self.user_rows += user_rows(&part.rows);
        self.manifest.rows += part.rows.len() as u64;
        self.manifest.row_bytes += row_bytes(&part.rows);
        self.manifest.parts.push(PartEntry {
            name,
            bytes: file.len() as u64,
            sha256: sha256(file),
            rows: part.rows.len() as u64,
        });
    }

    /// The rows of the next part.
    async fn rows(&mut self) -> Result<Vec<(Bytes, Bytes)>, BackupError> {
        let mut scan = match self.scan.take() {
            Some(scan) => scan,
            None if self.last.is_empty() => self.snapshot.scan(&Bytes::new(), None),
            None => {
                // The smallest key after `last`.
                let start = [self.last.as_ref(), &[0]].concat();
                self.snapshot.scan(&start.into(), None)
            }
        };
        let (mut rows, mut bytes) = (Vec::new(), 0);
        while bytes < self.part_bytes {
            let more = scan.next(CHUNK_ROWS, self.part_bytes - bytes).await?;
            let more: Vec<(Bytes, Bytes)> = more.into_iter().collect();
            if more.is_empty() {
                break;
            }
            bytes += row_bytes(&more) as usize;
            rows.extend(more);
        }
        self.scan = Some(scan);
        Ok(rows)
    }
}

/// Decodes a file; the part is `None` if the file is damaged. Returns the file as well.
async fn decoded(file: Bytes) -> Result<(Bytes, Option<Part>), BackupError> {
    let decoding = partita_rt::threads::spawn_blocking(move || {
        let part = Part::decode(&file).ok();
        (file, part)
    });
    decoding.await.map_err(|error| broken(&error))
}

fn broken(error: &dyn std::error::Error) -> BackupError {
    BackupError::Directory(error.to_string())
}
