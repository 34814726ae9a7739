//! The stored form of small rows, such as rows of a catalog: a version byte, then JSON. These rows are few and rarely
//! written, so a readable form costs little.
//!
//! Unknown versions and fields are refused. `docs/format/catalog.md` lists the records.

use crate::Error;
use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

const VERSION: u8 = 1;

/// The row of a record.
///
/// # Panics
/// If JSON cannot represent the record. It can, because records consist of numbers, texts, lists and options.
pub fn encode_record(record: &impl Serialize) -> Bytes {
    let mut bytes = vec![VERSION];
    serde_json::to_writer(&mut bytes, record).expect("JSON can represent every record");
    Bytes::from(bytes)
}

/// The record of a row.
///
/// # Errors
/// [`Error::Corrupt`].
pub fn decode_record<T: DeserializeOwned>(row: &[u8]) -> Result<T, Error> {
    match row.split_first() {
        Some((&VERSION, json)) => serde_json::from_slice(json)
            .map_err(|error| Error::Corrupt(format!("catalog row: {error}").into())),
        Some((version, _)) => Err(Error::Corrupt(
            format!("catalog row has unknown version {version}").into(),
        )),
        None => Err(Error::Corrupt("catalog row is empty".into())),
    }
}
