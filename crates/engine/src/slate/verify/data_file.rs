//! Verifies a data file: reads it once from its beginning to its end, in parts of about 1 MiB, without the caches.
//!
//! A data file consists of pieces: blocks of rows, the filter, the index, statistics and metadata. Each ends with a
//! CRC-32 of its other bytes. The last ten bytes are the position of the metadata and the format version. The manifest
//! has the positions of filter, index and statistics; the index has those of the blocks.

use std::ops::Range;
use std::sync::Arc;

use slatedb::manifest::SsTableView;
use slatedb::object_store::path::Path;
use slatedb::object_store::{self, ObjectStore, ObjectStoreExt};
use slatedb::{ErrorKind, SstReader};

use super::super::checked_store::Failure;
use super::super::read::FORMAT_VERSION;
use crate::Meter;

/// About this many bytes are read at a time. A longer piece is read as a whole: a block with a large row can be longer.
const PART_BYTES: u64 = 1 << 20;

/// Bytes of a checksum.
const CHECKSUM_BYTES: u64 = 4;

/// Bytes of the position of the metadata and of the version, at the end of the file.
const FOOTER_BYTES: u64 = 10;

/// The result of a verification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::slate) enum FileState {
    /// All checksums are right.
    Sound,
    /// The file is missing.
    Missing,
    /// The file is damaged.
    Damaged(String),
    /// The file could not be read, for a reason that may be temporary.
    Unread(String),
}

/// Why a verification ended early.
enum Stop {
    Store(object_store::Error),
    Damaged(String),
}

impl From<object_store::Error> for Stop {
    fn from(error: object_store::Error) -> Self {
        Self::Store(error)
    }
}

fn damaged(problem: impl Into<String>) -> Stop {
    Stop::Damaged(problem.into())
}

/// A part of a file with a checksum at its end.
struct Piece {
    name: &'static str,
    bytes: Range<u64>,
}

/// A file, its description in the manifest, and how it is read.
struct DataFile<'f> {
    store: &'f Arc<dyn ObjectStore>,
    path: &'f Path,
    view: &'f SsTableView,
    meter: &'f dyn Meter,
}

/// Verifies the data file at `path`, which a manifest lists as `view`.
pub(in crate::slate) async fn verify(
    store: &Arc<dyn ObjectStore>,
    path: &Path,
    view: &SsTableView,
    meter: &dyn Meter,
) -> FileState {
    let file = DataFile {
        store,
        path,
        view,
        meter,
    };
    match file.verify().await {
        Ok(()) => FileState::Sound,
        Err(Stop::Damaged(problem)) => FileState::Damaged(problem),
        Err(Stop::Store(error)) => match Failure::from(error) {
            Failure::Missing(_) => FileState::Missing,
            Failure::Damaged(problem) => FileState::Damaged(problem),
            Failure::Passing(error) => FileState::Unread(error.to_string()),
        },
    }
}

impl DataFile<'_> {
    async fn verify(&self) -> Result<(), Stop> {
        let size = self.store.head(self.path).await?.size;
        let tail = self.tail(size)?;
        self.footer(size, &tail).await?;
        for piece in &tail {
            self.read(std::slice::from_ref(piece)).await?;
        }
        let blocks = self.blocks(&tail).await?;
        let mut rest = &blocks[..];
        while let Some(first) = rest.first() {
            let fits = |piece: &&Piece| piece.bytes.end <= first.bytes.start + PART_BYTES;
            let count = rest.iter().take_while(fits).count().max(1);
            let (part, next) = rest.split_at(count);
            self.read(part).await?;
            rest = next;
        }
        Ok(())
    }

    /// The pieces after the blocks, in the order of the file.
    fn tail(&self, size: u64) -> Result<Vec<Piece>, Stop> {
        let info = &self.view.sst.info;
        let places = [
            ("filter", info.filter_offset, info.filter_len),
            ("index", info.index_offset, info.index_len),
            ("statistics", info.stats_offset, info.stats_len),
        ];
        let mut tail = Vec::new();
        let mut end = None;
        for (name, offset, bytes) in places.into_iter().filter(|(_, _, bytes)| *bytes > 0) {
            let piece_end = offset.saturating_add(bytes);
            if bytes < CHECKSUM_BYTES || end.is_some_and(|end| end != offset) {
                return Err(damaged("its metadata in the manifest is invalid"));
            }
            end = Some(piece_end);
            tail.push(Piece {
                name,
                bytes: offset..piece_end,
            });
        }
        let metadata = end.unwrap_or_default()..size.saturating_sub(FOOTER_BYTES);
        let bytes_min = metadata.start.saturating_add(CHECKSUM_BYTES + FOOTER_BYTES);
        if size <= bytes_min {
            return Err(damaged(format!(
                "it was truncated: it has {size} bytes, and more than {bytes_min} are expected"
            )));
        }
        tail.push(Piece {
            name: "metadata",
            bytes: metadata,
        });
        Ok(tail)
    }

    /// Verifies the last bytes of the file. They have no checksum, but must contain the position of the metadata.
    async fn footer(&self, size: u64, tail: &[Piece]) -> Result<(), Stop> {
        let footer = self
            .store
            .get_range(self.path, size - FOOTER_BYTES..size)
            .await?;
        let metadata = tail.last().map_or(0, |piece| piece.bytes.start);
        let is_right = footer
            .split_first_chunk::<8>()
            .is_some_and(|(offset, version)| {
                u64::from_be_bytes(*offset) == metadata && *version == FORMAT_VERSION
            });
        match is_right {
            true => Ok(()),
            false => Err(damaged(
                "its last bytes were changed, or it was truncated or replaced",
            )),
        }
    }

    /// The blocks of rows, before the tail. The checksum of the index has been verified.
    async fn blocks(&self, tail: &[Piece]) -> Result<Vec<Piece>, Stop> {
        let end = tail.first().map_or(0, |piece| piece.bytes.start);
        let invalid = |_| damaged("its index or its metadata cannot be read");
        let folder = self
            .path
            .as_ref()
            .rsplitn(3, '/')
            .nth(2)
            .unwrap_or_default();
        let reader = SstReader::new(folder.to_owned(), Arc::clone(self.store), None, None);
        let id = self.view.sst.id.value();
        let stored = reader.open(id).await.map_err(stop)?;
        if *stored.info() != self.view.sst.info {
            return Err(damaged(
                "it is another file than the one that the manifest names",
            ));
        }
        let index = stored.index().await.map_err(stop)?;
        let mut blocks = Vec::with_capacity(index.len());
        let mut before: Option<(u64, &[u8])> = None;
        for (offset, first_key) in index.iter() {
            match before {
                None if offset != 0 => return Err(invalid(())),
                Some((_, key)) if key > first_key => {
                    return Err(damaged(
                        "the blocks in its index are not in the order of keys",
                    ));
                }
                Some((start, _)) => blocks.push(block(start..offset).map_err(invalid)?),
                None => {}
            }
            before = Some((offset, first_key));
        }
        if let Some((start, _)) = before {
            blocks.push(block(start..end).map_err(invalid)?);
        }
        Ok(blocks)
    }

    /// Reads adjacent pieces and verifies their checksums.
    async fn read(&self, pieces: &[Piece]) -> Result<(), Stop> {
        let (Some(first), Some(last)) = (pieces.first(), pieces.last()) else {
            return Ok(());
        };
        let start = first.bytes.start;
        let content = self
            .store
            .get_range(self.path, start..last.bytes.end)
            .await?;
        self.meter.read(content.len() as u64).await;
        for piece in pieces {
            let at = |place: u64| usize::try_from(place - start).unwrap_or(usize::MAX);
            let bytes = content.get(at(piece.bytes.start)..at(piece.bytes.end));
            let Some((data, checksum)) = bytes.and_then(|bytes| bytes.split_last_chunk::<4>())
            else {
                return Err(damaged("it was truncated while it was read"));
            };
            if crc32fast::hash(data).to_be_bytes() != *checksum {
                let (name, Range { start, end }) = (piece.name, &piece.bytes);
                return Err(damaged(format!(
                    "its {name} at bytes {start} to {end} does not match its checksum"
                )));
            }
        }
        Ok(())
    }
}

fn block(bytes: Range<u64>) -> Result<Piece, ()> {
    let is_valid = bytes.end > bytes.start && bytes.end - bytes.start > CHECKSUM_BYTES;
    let name = "block";
    is_valid.then_some(Piece { name, bytes }).ok_or(())
}

/// Converts an error of SlateDB in reading a part whose checksum was right.
fn stop(error: slatedb::Error) -> Stop {
    match error.kind() {
        ErrorKind::Unavailable => Stop::Store(object_store::Error::Generic {
            store: "partita",
            source: Box::new(error),
        }),
        _ => damaged(format!("it cannot be read: {error}")),
    }
}
