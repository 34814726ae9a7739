//! A file of rows. `docs/format/backup.md` describes the bytes.

use bytes::{Buf, Bytes};
use sha2::{Digest, Sha256};

use super::BackupError;

const MAGIC: &[u8; 8] = b"PARTBAK\n";
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 64;
const DIGEST_BYTES: usize = 32;
/// A fast compression level. Its compression ratio is about that of the database's files.
const ZSTD_LEVEL: i32 = 1;
/// The maximum size of the uncompressed rows. A part is only a little larger than [`super::write::PART_BYTES`], so a
/// larger size means damage.
const BODY_BYTES_MAX: usize = 256 << 20;

/// Rows of a snapshot, in key order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    /// The snapshot's id.
    pub(super) snapshot: [u8; 16],
    /// The number of the part, counted from 1.
    pub(super) number: u64,
    /// The last key of the previous part; empty for the first part.
    pub(super) after: Bytes,
    /// Keys and values.
    pub(super) rows: Vec<(Bytes, Bytes)>,
}

impl Part {
    /// Encodes the file. Takes tens of milliseconds.
    pub(super) fn encode(&self) -> std::io::Result<Vec<u8>> {
        let mut body =
            Vec::with_capacity(usize::try_from(row_bytes(&self.rows)).unwrap_or_default());
        push(&mut body, &self.after);
        for (key, value) in &self.rows {
            push(&mut body, key);
            push(&mut body, value);
        }
        let packed = zstd::bulk::compress(&body, ZSTD_LEVEL)?;
        let mut file = Vec::with_capacity(HEADER_BYTES + packed.len() + DIGEST_BYTES);
        file.extend_from_slice(MAGIC);
        file.extend_from_slice(&VERSION.to_le_bytes());
        file.extend_from_slice(&[0; 4]);
        file.extend_from_slice(&self.snapshot);
        for number in [
            self.number,
            self.rows.len() as u64,
            body.len() as u64,
            packed.len() as u64,
        ] {
            file.extend_from_slice(&number.to_le_bytes());
        }
        file.extend_from_slice(&packed);
        let digest = Sha256::digest(&file);
        file.extend_from_slice(&digest);
        Ok(file)
    }

    /// Decodes a file.
    ///
    /// # Errors
    /// [`BackupError::Damaged`].
    pub(super) fn decode(file: &[u8]) -> Result<Self, BackupError> {
        decode(file).map_err(|what| BackupError::Damaged(what.to_owned()))
    }
}

/// The bytes of keys and values.
pub(super) fn row_bytes(rows: &[(Bytes, Bytes)]) -> u64 {
    let bytes = rows.iter().map(|(key, value)| key.len() + value.len());
    bytes.sum::<usize>() as u64
}

fn push(body: &mut Vec<u8>, bytes: &[u8]) {
    let length = u32::try_from(bytes.len()).expect("keys and values are far below 4 GiB");
    body.extend_from_slice(&length.to_le_bytes());
    body.extend_from_slice(bytes);
}

fn decode(file: &[u8]) -> Result<Part, &'static str> {
    let digest_start = file.len().checked_sub(DIGEST_BYTES).ok_or("too short")?;
    let (content, digest) = file.split_at_checked(digest_start).ok_or("too short")?;
    let (mut header, packed) = content.split_at_checked(HEADER_BYTES).ok_or("too short")?;
    if !header.starts_with(MAGIC) {
        return Err("not a part of a backup");
    }
    if Sha256::digest(content).as_slice() != digest {
        return Err("checksum mismatch");
    }
    header.advance(MAGIC.len());
    if header.get_u32_le() != VERSION {
        return Err("unknown version");
    }
    header.advance(4);
    let mut snapshot = [0; 16];
    header.copy_to_slice(&mut snapshot);
    let (number, count) = (header.get_u64_le(), header.get_u64_le());
    let (body_bytes, packed_bytes) = (header.get_u64_le(), header.get_u64_le());
    if packed_bytes != packed.len() as u64 {
        return Err("wrong length");
    }
    let body_bytes = usize::try_from(body_bytes).unwrap_or(usize::MAX);
    if body_bytes > BODY_BYTES_MAX {
        return Err("wrong length");
    }
    let body =
        zstd::bulk::decompress(packed, body_bytes).map_err(|_| "cannot decompress the rows")?;
    let mut body = Bytes::from(body);
    let after = take(&mut body)?;
    let (mut rows, mut last) = (Vec::new(), after.clone());
    while body.has_remaining() {
        let (key, value) = (take(&mut body)?, take(&mut body)?);
        if key <= last {
            return Err("the rows are not in order");
        }
        last = key.clone();
        rows.push((key, value));
    }
    if rows.len() as u64 != count {
        return Err("wrong number of rows");
    }
    Ok(Part {
        snapshot,
        number,
        after,
        rows,
    })
}

fn take(body: &mut Bytes) -> Result<Bytes, &'static str> {
    let length = body
        .try_get_u32_le()
        .map_err(|_| "the rows are truncated")?;
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    if body.len() < length {
        return Err("the rows are truncated");
    }
    Ok(body.split_to(length))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn part(rows: BTreeMap<Vec<u8>, Vec<u8>>) -> Part {
        let rows = rows.into_iter().filter(|(key, _)| !key.is_empty());
        Part {
            snapshot: [7; 16],
            number: 3,
            after: Bytes::new(),
            rows: rows
                .map(|(key, value)| (key.into(), value.into()))
                .collect(),
        }
    }

    proptest! {
        #[test]
        fn a_decoded_part_equals_the_encoded_part(
            rows in prop::collection::btree_map(any::<Vec<u8>>(), any::<Vec<u8>>(), 0..50),
        ) {
            let part = part(rows);
            prop_assert_eq!(Part::decode(&part.encode().unwrap()).unwrap(), part);
        }

        #[test]
        fn every_changed_byte_is_detected(at in any::<prop::sample::Index>(), with in 1_u8..) {
            let rows = (0..20_u8).map(|number| (vec![number + 1], vec![number; 30])).collect();
            let mut file = part(rows).encode().unwrap();
            let at = at.index(file.len());
            file[at] ^= with;
            prop_assert!(Part::decode(&file).is_err());
            file[at] ^= with;
            file.truncate(at);
            prop_assert!(Part::decode(&file).is_err());
        }

        #[test]
        fn random_bytes_do_not_panic(mut file in any::<Vec<u8>>()) {
            let _ = Part::decode(&file);
            file.splice(..0, *MAGIC);
            let digest = Sha256::digest(&file);
            file.extend_from_slice(&digest);
            let _ = Part::decode(&file);
        }
    }
}
