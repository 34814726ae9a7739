//! Decoded records by their row: every request looks up its table or queue, and the row rarely changes.
//!
//! A look-up still reads the row, usually from the range's cache. The memo only avoids decoding the row again.

use bytes::Bytes;
use parking_lot::RwLock;
use partita_rt::hash::RandomState;
use std::collections::HashMap;
use std::sync::Arc;

/// The maximum number of decoded records. If the accounts together have more, some are decoded repeatedly.
const RECORDS_MAX: usize = 10_000;

/// Decoded records of one kind.
#[derive(Debug)]
pub struct RecordMemo<T> {
    records: RwLock<HashMap<Bytes, (Bytes, Arc<T>), RandomState>>,
}

impl<T> Default for RecordMemo<T> {
    fn default() -> Self {
        Self {
            records: RwLock::default(),
        }
    }
}

impl<T> RecordMemo<T> {
    /// The record decoded from this row, if it is kept.
    pub fn find(&self, key: &Bytes, row: &Bytes) -> Option<Arc<T>> {
        let records = self.records.read();
        let (known, record) = records.get(key)?;
        // Compares the addresses first: the range's cache nearly always returns the same buffer, so the bytes are
        // rarely compared.
        let same = (known.as_ptr() == row.as_ptr() && known.len() == row.len()) || known == row;
        same.then(|| Arc::clone(record))
    }

    /// Keeps the record of a row.
    pub fn keep(&self, key: Bytes, row: Bytes, record: &Arc<T>) {
        let mut records = self.records.write();
        if records.len() >= RECORDS_MAX {
            records.clear();
        }
        records.insert(key, (row, Arc::clone(record)));
    }
}
