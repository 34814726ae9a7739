//! The stored forms of a queue's rows. `docs/format/queue.md` describes the bytes.

mod header;
mod message_row;

pub(crate) use header::Header;
pub(crate) use message_row::{MessageRow, Text};

use crate::Error;

/// Reads fixed-width fields.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    /// The next `N` bytes.
    fn take<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let Some((field, rest)) = self.0.split_first_chunk::<N>() else {
            return Err(Error::Corrupt("a row of a queue is too short".into()));
        };
        self.0 = rest;
        Ok(*field)
    }

    fn u64(&mut self) -> Result<u64, Error> {
        self.take().map(u64::from_be_bytes)
    }

    /// The version byte, which must be `known`.
    fn version(&mut self, known: u8) -> Result<(), Error> {
        let [version] = self.take()?;
        if version == known {
            return Ok(());
        }
        Err(Error::Corrupt(
            format!("a row of a queue has unknown version {version}").into(),
        ))
    }
}
