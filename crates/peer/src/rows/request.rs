//! A request for rows.

use super::VERSION;
use crate::forward::limits::LONG_BYTES_MAX;
use crate::forward::reader::{DecodeError, Reader};
use crate::forward::writer::Writer;
use crate::forward::{RangeId, Tenure};

/// A request for rows of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowsRequest<'a> {
    /// The range that the sender has found.
    pub range: RangeId,
    /// The tenure of the range that the sender knows.
    pub tenure: Tenure,
    /// What is asked.
    pub action: RowsAction<'a>,
}

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowsAction<'a> {
    /// A row.
    Get {
        /// Its key.
        key: &'a [u8],
    },
    /// A row of the catalog, with a lease.
    Lease {
        /// Its key.
        key: &'a [u8],
    },
    /// Rows in key order.
    Scan {
        /// The first key.
        start: &'a [u8],
        /// The first key after the rows.
        end: &'a [u8],
        /// The most rows.
        rows_max: u32,
        /// The size in bytes at which the page ends.
        bytes_max: u32,
    },
    /// Change the rows in the body.
    Write,
}

impl<'a> RowsRequest<'a> {
    /// The bytes of the head.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Writer::with_capacity(256);
        out.byte(VERSION);
        out.u64(self.range.0);
        out.u64(self.tenure.0);
        match self.action {
            RowsAction::Get { key } => {
                out.byte(0);
                out.bytes(key);
            }
            RowsAction::Lease { key } => {
                out.byte(1);
                out.bytes(key);
            }
            RowsAction::Scan {
                start,
                end,
                rows_max,
                bytes_max,
            } => {
                out.byte(2);
                out.bytes(start);
                out.bytes(end);
                out.u32(rows_max);
                out.u32(bytes_max);
            }
            RowsAction::Write => out.byte(3),
        }
        out.finish()
    }

    /// Reads the bytes of a head.
    ///
    /// # Errors
    /// [`DecodeError`].
    pub fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut input = Reader::new(bytes, VERSION)?;
        let range = RangeId(input.u64("range")?);
        let tenure = Tenure(input.u64("tenure")?);
        let action = match input.byte("action")? {
            0 => RowsAction::Get {
                key: input.bytes("key", LONG_BYTES_MAX)?,
            },
            1 => RowsAction::Lease {
                key: input.bytes("key", LONG_BYTES_MAX)?,
            },
            2 => RowsAction::Scan {
                start: input.bytes("start", LONG_BYTES_MAX)?,
                end: input.bytes("end", LONG_BYTES_MAX)?,
                rows_max: input.u32("number of rows")?,
                bytes_max: input.u32("number of bytes")?,
            },
            3 => RowsAction::Write,
            other => return Err(DecodeError::Unknown("action", other)),
        };
        input.finish()?;
        Ok(Self {
            range,
            tenure,
            action,
        })
    }
}
