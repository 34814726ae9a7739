//! The stored record of a snapshot. `docs/format/snapshot.md` describes the bytes.

use bytes::Bytes;
use partita_engine::PinId;
use partita_model::DateTime;
use partita_range::{Bounds, RangeId};
use serde::{Deserialize, Serialize};

use super::SnapshotName;
use partita_cluster::checksum::{self, FORMAT, FORMAT_WITHOUT_CHECKSUM};
use partita_cluster::{Epoch, check_starts, key_text};

/// A snapshot: the databases that hold it, and their pins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotRecord {
    /// The format of the record.
    pub format: u32,
    /// Its name.
    pub name: SnapshotName,
    /// 32 random hexadecimal digits, which distinguish this snapshot from earlier ones of the same name.
    pub id: String,
    /// The wall-clock time of the request that created the snapshot.
    pub created: DateTime,
    /// The version of the partition map at that time.
    pub map_version: u64,
    /// The stored bytes of all files that the snapshot reads.
    pub bytes: u64,
    /// The ranges in key order: the first begins with the empty key, each ends where the next begins.
    pub ranges: Vec<PinnedRange>,
}

/// A range of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PinnedRange {
    /// The id of the range and of its database.
    pub id: u64,
    /// The epoch under which it was served.
    pub epoch: Epoch,
    /// Its first key.
    #[serde(with = "key_text")]
    pub start: Bytes,
    /// The pin in its database.
    pub pin: String,
}

impl PinnedRange {
    /// The range.
    #[must_use]
    pub fn range(&self) -> RangeId {
        RangeId(self.id)
    }

    /// The pin.
    #[must_use]
    pub fn pin(&self) -> PinId {
        PinId::new(&self.pin)
    }
}

impl SnapshotRecord {
    /// A snapshot that is being created.
    pub(crate) fn new(name: SnapshotName, created: DateTime, map_version: u64) -> Self {
        let [high, low] = [partita_rt::random::u64(), partita_rt::random::u64()];
        Self {
            format: FORMAT,
            name,
            id: format!("{high:016x}{low:016x}"),
            created,
            map_version,
            bytes: 0,
            ranges: Vec::new(),
        }
    }

    /// The ranges with their bounds.
    pub(crate) fn bounds(&self) -> impl Iterator<Item = (Bounds, &PinnedRange)> {
        self.ranges.iter().enumerate().map(|(at, range)| {
            let bounds = Bounds {
                start: range.start.clone(),
                end: self.ranges.get(at + 1).map(|next| next.start.clone()),
            };
            (bounds, range)
        })
    }

    /// The stored text.
    pub(crate) fn encode(&self) -> Vec<u8> {
        checksum::encode(self)
    }

    /// Reads a stored record.
    ///
    /// # Errors
    /// The text was changed, or it is not a record that this version can read.
    pub(crate) fn decode(text: &[u8]) -> Result<Self, String> {
        let record: Self = checksum::decode(text)?;
        record.check()?;
        Ok(record)
    }

    /// Checks that this version can read the record: format and order of the ranges.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        if !(FORMAT_WITHOUT_CHECKSUM..=FORMAT).contains(&self.format) {
            return Err("unknown format");
        }
        check_starts(self.ranges.iter().map(|range| &range.start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_record_matches_the_format_document() {
        let range = |id, start, pin: &str| PinnedRange {
            id,
            epoch: Epoch(2),
            start: Bytes::from_static(start),
            pin: pin.to_owned(),
        };
        let record = SnapshotRecord {
            format: FORMAT,
            name: "nightly".parse().unwrap(),
            id: "5f0c8a1e9b7d4c3f2a6e8d1b0c9f7a5e".to_owned(),
            created: DateTime::parse("2026-11-21T03:00:00.5Z").unwrap(),
            map_version: 12,
            bytes: 1_073_741_824,
            ranges: vec![
                range(2, b"", "01f0c7a2-8d3b-6c41-9e5f-7a1b2c3d4e5f"),
                range(3, b" a\0", "01f0c7a2-8d3b-6c42-8a6e-9b0c1d2e3f40"),
            ],
        };
        let text = String::from_utf8(record.encode()).unwrap();
        let document = include_str!("../../../docs/format/snapshot.md");
        assert!(document.contains(&text), "{text}");
        assert_eq!(SnapshotRecord::decode(text.as_bytes()).unwrap(), record);
        for bit in 0..text.len() * 8 {
            let mut damaged = text.clone().into_bytes();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let read = SnapshotRecord::decode(&damaged);
            assert!(read.is_err(), "bit {bit}: {read:?}");
        }
    }

    /// Stores of earlier versions have such records.
    #[test]
    fn a_record_without_a_checksum_is_read() {
        let text = r#"{"format": 1, "name": "a", "id": "0", "created": "2026-11-21T03:00:00Z", "map_version": 1,
            "bytes": 1, "ranges": [{"id": 1, "epoch": 1, "start": "", "pin": "0"}]}"#;
        let record = SnapshotRecord::decode(text.as_bytes()).unwrap();
        assert_eq!((record.format, record.ranges.len()), (1, 1));
        let disguised = text.replace("\"bytes\"", "\"checksum\": \"00000000\", \"bytes\"");
        let refused = SnapshotRecord::decode(disguised.as_bytes());
        assert!(refused.is_err(), "{refused:?}");
    }

    #[test]
    fn invalid_records_are_refused() {
        let mut record = SnapshotRecord::new("a".parse().unwrap(), DateTime::MIN, 1);
        assert!(record.check().is_err());
        record.ranges = ["", "b", "a"]
            .into_iter()
            .map(|start| PinnedRange {
                id: 1,
                epoch: Epoch(1),
                start: start.into(),
                pin: "0".to_owned(),
            })
            .collect();
        assert!(record.check().is_err());
        record.ranges.pop();
        record.check().unwrap();
        record.format = 3;
        assert!(record.check().is_err());
    }
}
