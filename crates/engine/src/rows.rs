//! Rows that a scan read, without an allocation for each.

use bytes::Bytes;

/// Some rows in key order. The keys share one buffer; the values stay in the blocks that they were read from, which are
/// in memory for as long as the rows, or a value taken out of them.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    keys: Vec<u8>,
    /// What the values are parts of: blocks, or single values.
    holders: Vec<Bytes>,
    rows: Vec<Row>,
    bytes: usize,
}

/// Where a row's key and value are.
#[derive(Clone, Copy, Debug)]
struct Row {
    key_end: usize,
    holder: usize,
    value_start: usize,
    value_end: usize,
}

impl Rows {
    /// No rows, with room for `count` of them.
    #[must_use]
    pub fn with_capacity(count: usize) -> Self {
        Self {
            rows: Vec::with_capacity(count),
            ..Self::default()
        }
    }

    /// The number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The bytes of all keys and values.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds a row after the last one.
    pub fn push(&mut self, key: &[u8], value: Bytes) {
        let end = value.len();
        let holder = self.hold(value);
        self.push_part(key, holder, 0..end);
    }

    /// Keeps bytes that values are parts of, and returns their number for [`Rows::push_part`].
    pub(crate) fn hold(&mut self, bytes: Bytes) -> usize {
        self.holders.push(bytes);
        self.holders.len() - 1
    }

    /// Adds a row whose value is a part of held bytes, and must lie within them.
    pub(crate) fn push_part(&mut self, key: &[u8], holder: usize, value: std::ops::Range<usize>) {
        self.keys.extend_from_slice(key);
        self.bytes += key.len() + value.len();
        self.rows.push(Row {
            key_end: self.keys.len(),
            holder,
            value_start: value.start,
            value_end: value.end,
        });
    }

    /// The row at a place: its key and its value.
    #[must_use]
    pub fn get(&self, place: usize) -> Option<(&[u8], &[u8])> {
        let row = self.rows.get(place)?;
        let start = place
            .checked_sub(1)
            .map_or(0, |before| self.key_end(before));
        let key = self.keys.get(start..row.key_end)?;
        let value = self.holders.get(row.holder)?;
        Some((key, value.get(row.value_start..row.value_end)?))
    }

    /// The key of the last row.
    #[must_use]
    pub fn last_key(&self) -> Option<&[u8]> {
        let (key, _) = self.get(self.len().checked_sub(1)?)?;
        Some(key)
    }

    /// The keys and values in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&[u8], &[u8])> {
        (0..self.len()).map(|place| self.get(place).unwrap_or_default())
    }

    fn key_end(&self, place: usize) -> usize {
        self.rows.get(place).map_or(0, |row| row.key_end)
    }
}

/// The rows with a reference to the memory that holds each key and value, not a copy of it.
impl IntoIterator for Rows {
    type Item = (Bytes, Bytes);
    type IntoIter = IntoRows;

    fn into_iter(self) -> IntoRows {
        IntoRows {
            keys: self.keys.into(),
            holders: self.holders,
            rows: self.rows.into_iter(),
            key_start: 0,
        }
    }
}

/// See [`Rows::into_iter`].
#[derive(Debug)]
pub struct IntoRows {
    keys: Bytes,
    holders: Vec<Bytes>,
    rows: std::vec::IntoIter<Row>,
    key_start: usize,
}

impl Iterator for IntoRows {
    type Item = (Bytes, Bytes);

    fn next(&mut self) -> Option<(Bytes, Bytes)> {
        let row = self.rows.next()?;
        let key = self.keys.slice(self.key_start..row.key_end);
        self.key_start = row.key_end;
        let holder = self.holders.get(row.holder)?;
        Some((key, holder.slice(row.value_start..row.value_end)))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.rows.size_hint()
    }
}

impl ExactSizeIterator for IntoRows {}

impl FromIterator<(Bytes, Bytes)> for Rows {
    fn from_iter<T: IntoIterator<Item = (Bytes, Bytes)>>(rows: T) -> Self {
        let mut all = Self::default();
        for (key, value) in rows {
            all.push(&key, value);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_in_order() {
        let mut rows = Rows::with_capacity(3);
        rows.push(b"a", Bytes::from_static(b"one"));
        let block = rows.hold(Bytes::from_static(b"-two-three"));
        rows.push_part(b"", block, 1..4);
        rows.push_part(b"ccc", block, 5..10);
        let wanted: [(&[u8], &[u8]); 3] = [(b"a", b"one"), (b"", b"two"), (b"ccc", b"three")];
        assert!(rows.iter().eq(wanted));
        assert_eq!(rows.get(3), None);
        assert_eq!((rows.len(), rows.bytes()), (3, 15));
        assert_eq!(rows.last_key(), Some(&b"ccc"[..]));
        let taken: Vec<(Bytes, Bytes)> = rows.into_iter().collect();
        assert!(
            taken
                .iter()
                .map(|(key, value)| (&key[..], &value[..]))
                .eq(wanted)
        );
    }
}
