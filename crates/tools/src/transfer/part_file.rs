//! Writes the part files of an export, and verifies their size and checksum (SHA-256).

use super::TransferError;
use super::atomic_file::{rename, temporary};
use super::manifest::ExportPart;
use crate::formats::{EntityWriter, Format, Schema, Style};
use partita_bulk::{Keys, entity_bytes, hex};
use partita_client::Entity;
use sha2::{Digest as _, Sha256};
use std::fs::File;
use std::io::{self, BufWriter, Read as _, Write};
use std::path::{Path, PathBuf};

/// Size of a file buffer, in bytes.
const BUFFER_BYTES: usize = 128 * 1024;

/// A file that computes the hash of its content while it is written.
struct HashedFile {
    file: BufWriter<File>,
    hash: Sha256,
    bytes: u64,
}

impl Write for HashedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.hash.update(bytes.get(..written).unwrap_or_default());
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// A file of rows that is being written, under a temporary name.
pub(super) struct PartWriter {
    path: PathBuf,
    writer: EntityWriter<HashedFile>,
    /// Number of rows written.
    pub(super) rows: u64,
    /// Size of the written rows by the service's formula, in bytes.
    pub(super) row_bytes: u64,
    /// The keys of the first and the last row.
    keys: Option<(Keys, Keys)>,
}

impl PartWriter {
    pub(super) fn create(
        path: PathBuf,
        format: (Format, Style),
        schema: &Schema,
    ) -> Result<Self, TransferError> {
        let temporary = temporary(&path);
        let file = File::create(&temporary).map_err(TransferError::io(&temporary))?;
        let file = HashedFile {
            file: BufWriter::with_capacity(BUFFER_BYTES, file),
            hash: Sha256::new(),
            bytes: 0,
        };
        let writer = EntityWriter::styled(format, schema, file);
        let writer = writer.map_err(TransferError::rows(&path))?;
        Ok(Self {
            path,
            writer,
            rows: 0,
            row_bytes: 0,
            keys: None,
        })
    }

    pub(super) fn write(&mut self, entity: &Entity) -> Result<(), TransferError> {
        self.writer
            .write(entity)
            .map_err(TransferError::rows(&self.path))?;
        self.rows += 1;
        self.row_bytes += entity_bytes(entity);
        let keys = Keys::of(entity);
        match &mut self.keys {
            Some((_, last)) => *last = keys,
            none => *none = Some((keys.clone(), keys)),
        }
        Ok(())
    }

    /// Ends the file, syncs it, and renames it to its final name.
    pub(super) fn finish(self) -> Result<ExportPart, TransferError> {
        let Self { path, writer, .. } = self;
        let file = writer.finish().map_err(TransferError::rows(&path))?;
        let HashedFile { file, hash, bytes } = file;
        let temporary = temporary(&path);
        let synced = file.into_inner().map_err(io::IntoInnerError::into_error);
        let synced = synced.and_then(|file| file.sync_all());
        synced.map_err(TransferError::io(&temporary))?;
        rename(&temporary, &path)?;
        let name = path.file_name().and_then(|name| name.to_str());
        let (first, last) = self.keys.unzip();
        Ok(ExportPart {
            file: name.unwrap_or_default().to_owned(),
            rows: self.rows,
            bytes,
            sha256: hex(hash.finalize()),
            first,
            last,
        })
    }
}

/// The SHA-256 of a file, in hexadecimal digits.
///
/// # Errors
/// [`TransferError::Io`].
pub(super) fn checksum(path: &Path) -> Result<String, TransferError> {
    let hashed = File::open(path).and_then(|mut file| {
        let mut hash = Sha256::new();
        let mut buffer = vec![0; BUFFER_BYTES];
        loop {
            let read = file.read(&mut buffer)?;
            if read == 0 {
                return Ok(hex(hash.finalize()));
            }
            hash.update(buffer.get(..read).unwrap_or_default());
        }
    });
    hashed.map_err(TransferError::io(path))
}

/// Returns an error if the file has changed since it was written: its size or checksum differs.
///
/// # Errors
/// [`TransferError::Damaged`], [`TransferError::Io`].
pub(super) fn verify(path: &Path, part: &ExportPart) -> Result<(), TransferError> {
    verify_size(path, part)?;
    if checksum(path)? == part.sha256 {
        return Ok(());
    }
    let what = "checksum mismatch: the file has changed since it was written";
    Err(TransferError::damaged(path, what))
}

/// Returns an error if the size of the file has changed since it was written.
///
/// # Errors
/// [`TransferError::Damaged`], [`TransferError::Io`].
pub(super) fn verify_size(path: &Path, part: &ExportPart) -> Result<(), TransferError> {
    let bytes = path.metadata().map_err(TransferError::io(path))?.len();
    if bytes == part.bytes {
        return Ok(());
    }
    let expected = part.bytes;
    let what = format!("the file has {bytes} bytes, but {expected} were written");
    Err(TransferError::damaged(path, what))
}
