//! Serving records: objects that state which ranges were served, in addition to the partition map.
//!
//! A range gets its serving record after the map that lists it is durable, and before its first client write. The
//! record is deleted with the range's database. So a start can notice that a version of the map is missing, before it
//! deletes a database that the missing version lists. `docs/format/map.md` describes the bytes.

use super::checksum;
use super::key_text;
use super::partition_map::Epoch;
use super::range_spec::RangeSpec;
use bytes::Bytes;
use partita_range::{Bounds, RangeId};
use serde::{Deserialize, Serialize};

/// The format that this version writes and reads.
const FORMAT: u32 = 1;

/// States that a range is served, with its keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServingRecord {
    format: u32,
    /// The id of the range and of its database.
    pub range: u64,
    /// The epoch under which it is served.
    pub epoch: Epoch,
    /// Its first key.
    #[serde(with = "key_text")]
    pub start: Bytes,
    /// The first key after it; `None` at the end of the key space.
    #[serde(
        with = "key_text::optional",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub end: Option<Bytes>,
    /// The version of the map that listed it when the record was written.
    pub version: u64,
}

impl ServingRecord {
    /// The record of a range that a version of the map lists.
    #[must_use]
    pub fn new(range: &RangeSpec, version: u64) -> Self {
        let Bounds { start, end } = range.bounds.clone();
        Self {
            format: FORMAT,
            range: range.id.0,
            epoch: range.epoch,
            start,
            end,
            version,
        }
    }

    /// The range.
    #[must_use]
    pub fn spec(&self) -> RangeSpec {
        RangeSpec {
            id: RangeId(self.range),
            epoch: self.epoch,
            bounds: Bounds {
                start: self.start.clone(),
                end: self.end.clone(),
            },
        }
    }

    /// The stored text.
    pub(super) fn encode(&self) -> Vec<u8> {
        checksum::encode(self)
    }

    /// Reads the record of `range`.
    pub(super) fn decode(range: RangeId, text: &[u8]) -> Result<Self, String> {
        let record: Self = checksum::decode_checked(text)?;
        if record.format != FORMAT {
            return Err("unknown format".to_owned());
        }
        if record.range != range.0 {
            return Err("the range in the record differs from the object name".to_owned());
        }
        Ok(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> ServingRecord {
        let spec = RangeSpec {
            id: RangeId(3),
            epoch: Epoch(2),
            bounds: Bounds {
                start: Bytes::from_static(b" a\0"),
                end: Some(Bytes::from_static(b" b\0")),
            },
        };
        ServingRecord::new(&spec, 3)
    }

    #[test]
    fn the_record_matches_the_format_document() {
        let document = include_str!("../../../../docs/format/map.md");
        let text = String::from_utf8(record().encode()).unwrap();
        assert!(document.contains(&text), "{text}");
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let record = record();
        let text = record.encode();
        let read = ServingRecord::decode(RangeId(3), &text).unwrap();
        assert_eq!(read, record);
        for bit in 0..text.len() * 8 {
            let mut damaged = text.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let read = ServingRecord::decode(RangeId(3), &damaged);
            assert!(read.is_err(), "bit {bit}");
        }
        let other = ServingRecord::decode(RangeId(4), &text);
        assert!(other.is_err(), "the name of another range");
    }
}
