//! Rows and their encoding, which all implementations share. Numbers are little endian. `docs/format/log.md` describes
//! the bytes.

use bytes::{Buf, Bytes};

/// Bytes of an encoded row beyond its key and value, at most: flags, two lengths, two times.
pub(crate) const ROW_HEADER_BYTES_MAX: usize = 1 + 2 + 4 + 8 + 8;

const FLAG_DELETE: u8 = 1;
const FLAG_CREATED: u8 = 2;
const FLAG_EXPIRES: u8 = 4;

/// A row of borrowed ([`RowRef`]) or owned ([`Row`]) bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowOf<B> {
    /// The key: at most 65,535 bytes.
    pub key: B,
    /// The value; `None` for a deletion.
    pub value: Option<B>,
    /// The time of the write, in milliseconds since 1970.
    pub create_ts: Option<i64>,
    /// The expiry time, in milliseconds since 1970.
    pub expire_ts: Option<i64>,
}

/// A row to be written, borrowed from the caller.
pub type RowRef<'r> = RowOf<&'r [u8]>;

/// A row read back.
pub type Row = RowOf<Bytes>;

impl Row {
    /// Borrows the row.
    #[must_use]
    pub fn as_ref(&self) -> RowRef<'_> {
        RowRef {
            key: &self.key,
            value: self.value.as_deref(),
            create_ts: self.create_ts,
            expire_ts: self.expire_ts,
        }
    }
}

/// A record passed its checksum, but its rows have an unknown encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a WAL record has rows that this version of partita cannot read")]
pub struct MalformedRows;

/// A row with a key or value that is too long to be encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowTooLong;

/// Appends the rows to `buffer` and returns their number. After an error the buffer holds a part of the rows.
pub(crate) fn encode_rows(
    buffer: &mut Vec<u8>,
    rows: &mut dyn Iterator<Item = RowRef<'_>>,
) -> Result<u32, RowTooLong> {
    let mut count: u32 = 0;
    for row in rows {
        encode_row(buffer, row)?;
        count = count.checked_add(1).ok_or(RowTooLong)?;
    }
    Ok(count)
}

fn encode_row(buffer: &mut Vec<u8>, row: RowRef<'_>) -> Result<(), RowTooLong> {
    let RowRef {
        key,
        value,
        create_ts,
        expire_ts,
    } = row;
    let deleted = if value.is_none() { FLAG_DELETE } else { 0 };
    let created = if create_ts.is_some() { FLAG_CREATED } else { 0 };
    let expires = if expire_ts.is_some() { FLAG_EXPIRES } else { 0 };
    let value = value.unwrap_or_default();
    let key_bytes = u16::try_from(key.len()).map_err(|_| RowTooLong)?;
    let value_bytes = u32::try_from(value.len()).map_err(|_| RowTooLong)?;
    buffer.push(deleted | created | expires);
    buffer.extend(key_bytes.to_le_bytes());
    buffer.extend(value_bytes.to_le_bytes());
    for time in [create_ts, expire_ts].into_iter().flatten() {
        buffer.extend(time.to_le_bytes());
    }
    buffer.extend_from_slice(key);
    buffer.extend_from_slice(value);
    Ok(())
}

/// Decodes the rows of a record, one after the other. Ends after the first error.
#[derive(Clone, Debug)]
pub struct Rows {
    body: Bytes,
    left: u32,
}

impl Rows {
    pub(crate) fn new(body: Bytes, count: u32) -> Self {
        Self { body, left: count }
    }

    fn decode(&mut self) -> Option<Row> {
        let body = &mut self.body;
        let flags = body.try_get_u8().ok()?;
        if flags & !(FLAG_DELETE | FLAG_CREATED | FLAG_EXPIRES) != 0 {
            return None;
        }
        let key_bytes = usize::from(body.try_get_u16_le().ok()?);
        let value_bytes = usize::try_from(body.try_get_u32_le().ok()?).ok()?;
        let create_ts = time(body, flags & FLAG_CREATED != 0)?;
        let expire_ts = time(body, flags & FLAG_EXPIRES != 0)?;
        if body.len() < key_bytes.checked_add(value_bytes)? {
            return None;
        }
        let key = body.split_to(key_bytes);
        let value = body.split_to(value_bytes);
        Some(Row {
            key,
            value: (flags & FLAG_DELETE == 0).then_some(value),
            create_ts,
            expire_ts,
        })
    }

    fn fail(&mut self) -> Option<Result<Row, MalformedRows>> {
        self.left = 0;
        self.body.clear();
        Some(Err(MalformedRows))
    }
}

impl Iterator for Rows {
    type Item = Result<Row, MalformedRows>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            // Bytes after the last row are an error.
            return if self.body.is_empty() {
                None
            } else {
                self.fail()
            };
        }
        match self.decode() {
            Some(row) => {
                self.left -= 1;
                Some(Ok(row))
            }
            None => self.fail(),
        }
    }
}

/// Reads a time if its flag is set. The outer option is `None` if the bytes end too early, the inner one if the flag is
/// not set.
#[allow(
    clippy::option_option,
    reason = "absent and unreadable are different outcomes"
)]
fn time(body: &mut Bytes, present: bool) -> Option<Option<i64>> {
    if !present {
        return Some(None);
    }
    body.try_get_i64_le().ok().map(Some)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::conformance::rows;

    proptest! {
        #[test]
        fn decoded_rows_equal_the_encoded_rows(rows in rows()) {
            let mut buffer = Vec::new();
            let count = encode_rows(&mut buffer, &mut rows.iter().map(Row::as_ref)).unwrap();
            let payload: usize = rows.iter().map(|row| row.key.len() + row.value.as_ref().map_or(0, Bytes::len)).sum();
            prop_assert!(buffer.len() <= payload + rows.len() * ROW_HEADER_BYTES_MAX);
            let read: Result<Vec<Row>, MalformedRows> = Rows::new(buffer.into(), count).collect();
            prop_assert_eq!(read.unwrap(), rows);
        }

        /// A body with a valid checksum that another version wrote gives an error, not a panic.
        #[test]
        fn random_bytes_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..2_000), count in any::<u32>()) {
            let read: Vec<_> = Rows::new(bytes.into(), count).collect();
            let errors = read.iter().filter(|row| row.is_err()).count();
            prop_assert!(errors == 0 && read.len() == count as usize || errors == 1 && read.last().unwrap().is_err());
        }
    }

    #[test]
    fn bytes_after_the_last_row_are_an_error() {
        let row = RowRef {
            key: b"key",
            value: Some(b"value"),
            create_ts: None,
            expire_ts: None,
        };
        let mut buffer = Vec::new();
        encode_rows(&mut buffer, &mut [row, row].into_iter()).unwrap();
        let read: Vec<_> = Rows::new(buffer.into(), 1).collect();
        assert!(matches!(read[..], [Ok(_), Err(MalformedRows)]), "{read:?}");
    }

    #[test]
    fn a_key_that_is_too_long_is_refused() {
        let row = RowRef {
            key: &[0; 1 << 16],
            value: None,
            create_ts: None,
            expire_ts: None,
        };
        let encoded = encode_rows(&mut Vec::new(), &mut [row].into_iter());
        assert_eq!(encoded, Err(RowTooLong));
    }
}
