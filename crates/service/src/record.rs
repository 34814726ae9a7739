//! The stored form of small rows, such as rows of a catalog: a version byte, then JSON. These rows are few and rarely
//! written, so a readable form costs little.
//!
//! Unknown versions and fields are refused. `docs/format/catalog.md` lists the records.

use crate::{Error, Storage};
use bytes::Bytes;
use partita_engine::Batch;
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

impl Storage {
    /// Changes the record of a row of the catalog under the lock of its key. `change` may add writes in the same range to
    /// the batch. Returns whether the row exists; without it nothing is changed.
    ///
    /// Cancel-safe: if dropped during the commit, the change still completes.
    ///
    /// # Errors
    /// [`Error::Busy`], [`Error::OutcomeUnknown`], [`Error::Corrupt`].
    pub async fn change_record<T: Serialize + DeserializeOwned>(
        &self,
        key: Bytes,
        change: impl FnOnce(&mut T, &mut Batch) + Send,
    ) -> Result<bool, Error> {
        let locked = self.change_catalog(std::slice::from_ref(&key)).await?;
        let Some(row) = locked.read(&key).await? else {
            return Ok(false);
        };
        let mut batch = Batch::new();
        let changed = {
            let mut record = decode_record(&row)?;
            change(&mut record, &mut batch);
            encode_record(&record)
        };
        batch.put(key, changed);
        locked.commit(batch).await?;
        Ok(true)
    }
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
