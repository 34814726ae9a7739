//! Finds the split key of a range by size.

use crate::error::ChangeRefused;
use bytes::Bytes;
use partita_engine::ScanHint;
use partita_model::indivisible_prefix;
use partita_range::{Range, keys_within};

/// Ranges up to this many bytes are read row by row. For larger ranges the first keys of the files are exact enough.
const READ_BYTES_MAX: u64 = 256 << 20;
/// The maximum number of rows that are read at a time.
const READ_ROWS: usize = 1024;
/// The maximum bytes of the rows that are read at a time.
const READ_CHUNK_BYTES: usize = 1 << 20;

/// The start of the partition nearest the middle of a range's bytes.
pub(super) async fn middle_of(range: &Range) -> Result<Bytes, ChangeRefused> {
    let layout = range.engine().file_layout();
    let weighed = if layout.bytes > READ_BYTES_MAX {
        partitions(&layout.files_by_key)
    } else {
        read_partitions(range).await?
    };
    middle(&weighed, &range.bounds().start).ok_or(ChangeRefused::NoSplitKey(range.id()))
}

/// Reads every partition of a small range with its bytes.
async fn read_partitions(range: &Range) -> Result<Vec<(Bytes, u64)>, ChangeRefused> {
    let keys = keys_within(range.bounds());
    let scan = range.scan(keys, ScanHint::walk()).await;
    let mut scan = scan.map_err(ChangeRefused::failed)?;
    let mut found = Vec::new();
    loop {
        let rows = scan.next(READ_ROWS, READ_CHUNK_BYTES).await;
        let rows = rows.map_err(ChangeRefused::failed)?;
        if rows.is_empty() {
            return Ok(found);
        }
        let weighed: Vec<(Bytes, u64)> = rows
            .into_iter()
            .map(|(key, row)| (key.clone(), (key.len() + row.len()) as u64))
            .collect();
        add(&mut found, &weighed);
        tokio::task::yield_now().await;
    }
}

/// Partitions, each with the bytes up to the next known key.
fn partitions(keys: &[(Bytes, u64)]) -> Vec<(Bytes, u64)> {
    let mut found = Vec::new();
    add(&mut found, keys);
    found
}

/// Adds keys with their bytes, in order, to partitions. A key without a partition counts towards the partition before
/// it.
fn add(partitions: &mut Vec<(Bytes, u64)>, keys: &[(Bytes, u64)]) {
    for (key, bytes) in keys {
        match (indivisible_prefix(key), partitions.last_mut()) {
            (Some(prefix), Some((last, sum))) if last == prefix => *sum += bytes,
            (Some(prefix), _) => partitions.push((key.slice_ref(prefix), *bytes)),
            (None, Some((_, sum))) => *sum += bytes,
            (None, None) => {}
        }
    }
}

/// The partition at whose start the bytes before it are nearest to half of all; never the first one of the range.
fn middle(partitions: &[(Bytes, u64)], start: &Bytes) -> Option<Bytes> {
    let total: u64 = partitions.iter().map(|(_, bytes)| bytes).sum();
    let mut before = 0_u64;
    let mut best: Option<(u64, &Bytes)> = None;
    for (at, (partition, bytes)) in partitions.iter().enumerate() {
        let off = before.abs_diff(total - before);
        let is_inside = at > 0 && partition > start;
        if is_inside && best.is_none_or(|(least, _)| off < least) {
            best = Some((off, partition));
        }
        before += bytes;
    }
    best.map(|(_, partition)| partition.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use partita_model::{TableId, TableSpace};

    fn key(partition: &str, row: &str) -> Bytes {
        TableSpace::new("account", TableId(1)).entity(partition, row)
    }

    fn split_key(keys: &[(&str, &str, u64)]) -> Option<Bytes> {
        let keys: Vec<(Bytes, u64)> = keys
            .iter()
            .map(|(partition, row, bytes)| (key(partition, row), *bytes))
            .collect();
        middle(&partitions(&keys), &Bytes::new())
    }

    fn partition(name: &str) -> Option<Bytes> {
        Some(TableSpace::new("account", TableId(1)).partition(name))
    }

    #[test]
    fn the_split_key_is_the_partition_nearest_the_middle() {
        let even = ["a", "b", "c", "d"].map(|partition| (partition, "1", 10));
        assert_eq!(split_key(&even), partition("c"));
        let heavy = [
            ("a", "1", 10),
            ("b", "1", 40),
            ("b", "2", 40),
            ("c", "1", 5),
        ];
        assert_eq!(split_key(&heavy), partition("b"));
        let tail = [("a", "1", 50), ("a", "2", 30), ("b", "1", 5), ("c", "1", 5)];
        assert_eq!(split_key(&tail), partition("b"));
    }

    #[test]
    fn one_partition_has_no_split_key() {
        assert_eq!(split_key(&[("a", "1", 10), ("a", "2", 10)]), None);
        assert_eq!(split_key(&[]), None);
    }
}
