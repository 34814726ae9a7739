//! A file of the cache: a part of a data file, in chunks with checksums.
//!
//! ```text
//!  chunk │ chunk …     each: CRC-32 of its bytes (4 bytes, little-endian), then up to 16 KiB
//! ```
//!
//! It is not synced. After a power cut it can be short or have other bytes; the checksums tell.

use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

use bytes::Bytes;

/// The bytes of a chunk, but for the last one of a file. The block of a data file has about as many.
const CHUNK_BYTES: usize = 16 << 10;

const CHECKSUM_BYTES: usize = 4;

/// A chunk and its checksum.
const STORED_CHUNK_BYTES: usize = CHECKSUM_BYTES + CHUNK_BYTES;

/// What the name of a file ends with until it is written.
pub(super) const PARTIAL: &str = ".new";

/// Writes a file, or replaces it. Returns its size. Blocking.
pub(super) fn write(path: &Path, part: &[u8]) -> io::Result<u64> {
    let chunks = part.len().div_ceil(CHUNK_BYTES);
    let mut content = Vec::with_capacity(part.len() + chunks * CHECKSUM_BYTES);
    for chunk in part.chunks(CHUNK_BYTES) {
        content.extend_from_slice(&crc32fast::hash(chunk).to_le_bytes());
        content.extend_from_slice(chunk);
    }
    let mut partial = path.as_os_str().to_owned();
    partial.push(PARTIAL);
    let written = fs::write(&partial, &content).and_then(|()| fs::rename(&partial, path));
    if written.is_err() {
        // What a full disk has of it.
        let _ = fs::remove_file(&partial);
    }
    written.map(|()| content.len() as u64)
}

/// Reads some bytes of a part. Blocking.
///
/// # Errors
/// `InvalidData` if a checksum is wrong, `UnexpectedEof` if the file is too short; else those of the file system.
pub(super) fn read(path: &Path, wanted: Range<usize>) -> io::Result<Bytes> {
    let chunks = wanted.start / CHUNK_BYTES..wanted.end.div_ceil(CHUNK_BYTES);
    let mut stored = vec![0; chunks.len() * STORED_CHUNK_BYTES];
    let begin = chunks.start * STORED_CHUNK_BYTES;
    let length = read_up_to_end(&File::open(path)?, &mut stored, begin as u64)?;
    stored.truncate(length);
    let mut part = Vec::with_capacity(chunks.len() * CHUNK_BYTES);
    for chunk in stored.chunks(STORED_CHUNK_BYTES) {
        let Some((checksum, bytes)) = chunk.split_first_chunk::<CHECKSUM_BYTES>() else {
            return Err(io::ErrorKind::UnexpectedEof.into());
        };
        if crc32fast::hash(bytes) != u32::from_le_bytes(*checksum) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        part.extend_from_slice(bytes);
    }
    let first = chunks.start * CHUNK_BYTES;
    let wanted = wanted.start - first..wanted.end - first;
    if wanted.end > part.len() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Bytes::from(part).slice(wanted))
}

/// Fills the buffer from a file, or less of it at the end of the file. Returns how much.
fn read_up_to_end(file: &File, buffer: &mut [u8], begin: u64) -> io::Result<usize> {
    let mut done = 0;
    while let Some(rest @ [_, ..]) = buffer.get_mut(done..) {
        match file.read_at(rest, begin + done as u64) {
            Ok(0) => break,
            Ok(read) => done += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_bytes_of_a_part_are_read(
            bytes in 1_usize..4 * CHUNK_BYTES,
            begin in 0.0..1.0_f64,
            share in 0.0..=1.0_f64,
            flipped in 0.0..1.0_f64,
        ) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("part");
            let part: Vec<u8> = (0..bytes).map(|at| (at * 31 % 251) as u8).collect();
            let stored = write(&path, &part).unwrap();
            prop_assert_eq!(fs::metadata(&path).unwrap().len(), stored);
            let begin = (bytes as f64 * begin) as usize;
            let end = begin + 1 + ((bytes - begin - 1) as f64 * share) as usize;
            prop_assert_eq!(&read(&path, begin..end).unwrap()[..], &part[begin..end]);
            prop_assert!(read(&path, begin..bytes + 1).is_err());
            let mut content = fs::read(&path).unwrap();
            content[(stored as f64 * flipped) as usize] ^= 4;
            fs::write(&path, &content).unwrap();
            prop_assert!(read(&path, 0..bytes).is_err());
        }
    }
}
