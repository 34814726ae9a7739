//! A difference between the rows of the two readers.

use std::fmt;
use std::ops::Bound;

use bytes::Bytes;

use crate::{KeyRange, RangeId, Rows};

/// How many bytes of a value the log shows.
const SHOWN_BYTES: usize = 64;

/// A row that the readers do not both return.
#[derive(Debug, thiserror::Error)]
#[error(
    "the readers differ in range {range}, {read}, at key \"{key}\": Partita's reader returned {own}, SlateDB {slatedb}"
)]
pub(super) struct Difference {
    range: RangeId,
    /// What was read.
    read: String,
    key: String,
    own: String,
    slatedb: String,
}

impl Difference {
    pub(super) fn new(range: RangeId, read: &Read<'_>, row: &UnequalRow<'_>) -> Self {
        Self {
            range,
            read: read.to_string(),
            key: row.key.escape_ascii().to_string(),
            own: shown(row.own),
            slatedb: shown(row.slatedb),
        }
    }
}

/// A key, and its value in each of the two answers.
pub(super) struct UnequalRow<'r> {
    pub(super) key: &'r [u8],
    pub(super) own: Option<&'r [u8]>,
    pub(super) slatedb: Option<&'r [u8]>,
}

impl<'r> UnequalRow<'r> {
    /// The first row that differs; `None` if the answers are equal.
    pub(super) fn first(own: &'r Rows, slatedb: &'r Rows) -> Option<Self> {
        let places = 0..own.len().max(slatedb.len());
        let mut pairs = places.map(|place| (own.get(place), slatedb.get(place)));
        let (own, slatedb) = pairs.find(|(own, slatedb)| own != slatedb)?;
        let keys = [own, slatedb].into_iter().flatten().map(|(key, _)| key);
        // One answer lacks the smaller of two different keys.
        let key = keys.min()?;
        let value_of = |row: Option<(&'r [u8], &'r [u8])>| {
            let row = row.filter(|(of, _)| *of == key);
            row.map(|(_, value)| value)
        };
        Some(Self {
            key,
            own: value_of(own),
            slatedb: value_of(slatedb),
        })
    }
}

/// What was read.
pub(super) enum Read<'k> {
    Get,
    Scan(&'k KeyRange),
}

impl fmt::Display for Read<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Scan(keys) = self else {
            return f.write_str("a get");
        };
        let bound = |bound: &Bound<Bytes>| match bound {
            Bound::Included(key) => format!("\"{}\" (included)", key.escape_ascii()),
            Bound::Excluded(key) => format!("\"{}\" (excluded)", key.escape_ascii()),
            Bound::Unbounded => "none".to_owned(),
        };
        let (start, end) = (bound(&keys.start), bound(&keys.end));
        write!(f, "a scan with start {start} and end {end}")
    }
}

/// A value, shortened for the log.
fn shown(value: Option<&[u8]>) -> String {
    let Some(value) = value else {
        return "no row".to_owned();
    };
    let start = value.get(..SHOWN_BYTES).unwrap_or(value);
    format!(
        "a row of {} bytes, \"{}\"",
        value.len(),
        start.escape_ascii()
    )
}
