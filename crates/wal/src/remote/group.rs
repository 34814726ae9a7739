//! The group that collects records until it is appended.

use bytes::Bytes;

use super::Life;
use super::object::{self, Header, Kind, PART_BYTES, Part};
use crate::framing::{self, GroupHeader};
use crate::{AppendError, RangeId, RecordHeader, RecordSize, RowRef, WalId};

/// The records of a group.
pub(super) struct PendingGroup {
    life: Life,
    /// See [`Header::nonce`].
    pub(super) nonce: u64,
    /// Bytes that the group may have, as the caller reserved them.
    pub(super) room_bytes: u64,
    records: Vec<u8>,
    parts: Vec<Part>,
}

/// What the header of a group says about the log.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Position {
    pub(super) number: u64,
    /// See [`Header::floor`].
    pub(super) floor: u64,
    /// See [`Header::created_below`]: the number itself while one PUT is in flight at a time.
    pub(super) created_below: u64,
}

/// The bytes that a record takes at most.
pub(super) fn record_bytes_max(size: RecordSize) -> u64 {
    (framing::encoded_bytes_max(size) + PART_BYTES) as u64
}

impl PendingGroup {
    /// A group without records.
    pub(super) fn new(life: Life) -> Self {
        Self {
            life,
            nonce: partita_rt::random::u64(),
            room_bytes: 0,
            records: Vec::new(),
            parts: Vec::new(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Adds a record. A refused record leaves the group unchanged.
    pub(super) fn add(
        &mut self,
        record: RecordHeader,
        size: RecordSize,
        rows: &mut dyn Iterator<Item = RowRef<'_>>,
    ) -> Result<(), AppendError> {
        let header = GroupHeader {
            group: self.nonce,
            record,
        };
        let before = self.records.len();
        let salt = object::salt(self.life);
        let encoded = framing::encode_record(&mut self.records, salt, &header, size, rows);
        let bytes = self.records.len() - before;
        let all = self.records.len() + (self.parts.len() + 1) * PART_BYTES;
        let fits = encoded.is_ok() && all as u64 <= self.room_bytes;
        let Some(bytes) = u32::try_from(bytes).ok().filter(|_| fits) else {
            self.records.truncate(before);
            return Err(AppendError::Unfit);
        };
        self.parts.push(Part {
            range: record.range,
            first: record.wal_id,
            last: record.wal_id,
            bytes,
        });
        Ok(())
    }

    /// The range and the number of each record.
    pub(super) fn ids(&self) -> Vec<(RangeId, WalId)> {
        let parts = self.parts.iter();
        parts.map(|part| (part.range, part.last)).collect()
    }

    /// The object of the group. Takes the records.
    pub(super) fn encode(&mut self, position: Position) -> [Bytes; 3] {
        let header = Header {
            kind: Kind::Group,
            life: self.life,
            number: position.number,
            nonce: self.nonce,
            floor: position.floor,
            created_below: position.created_below,
            parts: u32::try_from(self.parts.len()).unwrap_or(u32::MAX),
        };
        let records = std::mem::take(&mut self.records);
        object::encode_group(&header, &self.parts, records.into())
    }
}
