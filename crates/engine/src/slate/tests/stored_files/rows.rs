//! The rows that the ranges of a stored directory must have, and the list of them.

use std::fmt;

use super::*;

/// The length and the checksum of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Digest {
    bytes: usize,
    crc: u32,
}

impl Digest {
    pub(super) fn of(value: &[u8]) -> Self {
        Self {
            bytes: value.len(),
            crc: crc32fast::hash(value),
        }
    }
}

/// The rows of a range; `None` if the last write deleted the row.
pub(super) type RangeRows = BTreeMap<Bytes, Option<Digest>>;

/// The rows of each range.
#[derive(Default)]
pub(super) struct ExpectedRows {
    ranges: BTreeMap<RangeId, RangeRows>,
}

impl ExpectedRows {
    pub(super) fn of(&self, range: RangeId) -> &RangeRows {
        &self.ranges[&range]
    }

    pub(super) fn of_mut(&mut self, range: RangeId) -> &mut RangeRows {
        self.ranges.entry(range).or_default()
    }

    /// Reads the list of a stored directory.
    pub(super) fn parse(list: &str) -> Self {
        let mut expected = Self::default();
        for line in list.lines().filter(|line| !line.starts_with('#')) {
            let fields: Vec<&str> = line.split(' ').collect();
            let (ranges, key, row) = match fields[..] {
                [ranges, key, "deleted"] => (ranges, key, None),
                [ranges, key, bytes, crc] => {
                    let bytes = bytes.parse().unwrap();
                    let crc = u32::from_str_radix(crc, 16).unwrap();
                    (ranges, key, Some(Digest { bytes, crc }))
                }
                _ => panic!("not a row of the list: {line}"),
            };
            for range in ranges.split(',') {
                let range = RangeId(range.parse().unwrap());
                let key = Bytes::copy_from_slice(key.as_bytes());
                expected.of_mut(range).insert(key, row);
            }
        }
        expected
    }
}

/// The list.
impl fmt::Display for ExpectedRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines: BTreeMap<(&Bytes, Option<Digest>), Vec<String>> = BTreeMap::new();
        for (range, rows) in &self.ranges {
            for (key, row) in rows {
                lines
                    .entry((key, *row))
                    .or_default()
                    .push(range.to_string());
            }
        }
        writeln!(f, "# Ranges, key, bytes and CRC-32 of the value.")?;
        for ((key, row), ranges) in lines {
            let key = str::from_utf8(key).map_err(|_| fmt::Error)?;
            write!(f, "{} {key} ", ranges.join(","))?;
            match row {
                None => writeln!(f, "deleted")?,
                Some(Digest { bytes, crc }) => writeln!(f, "{bytes} {crc:08x}")?,
            }
        }
        Ok(())
    }
}
