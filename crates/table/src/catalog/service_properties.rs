//! Get and Set Table Service Properties.

use super::record::{PropertiesRecord, decode, encode};
use crate::{Error, Service};
use bytes::Bytes;
use partita_engine::Batch;
use partita_model::{AccountName, KeyKind, KeyWriter, ServiceProperties};

fn key(account: &AccountName) -> Bytes {
    KeyWriter::new(KeyKind::SERVICE_PROPERTIES, 32)
        .last_text(account.as_str())
        .finish()
}

fn read(row: Option<Bytes>) -> Result<ServiceProperties, Error> {
    match row {
        Some(row) => Ok(decode::<PropertiesRecord>(&row)?.into()),
        None => Ok(ServiceProperties::default()),
    }
}

impl Service {
    /// The account's properties, or what they are before they were ever set.
    ///
    /// # Errors
    /// [`Error::Busy`], [`Error::Corrupt`].
    pub async fn service_properties(
        &self,
        account: &AccountName,
    ) -> Result<ServiceProperties, Error> {
        let key = key(account);
        read(self.get(&key).await?)
    }

    /// Changes some of the account's properties: `change` is given what they are. Cancel-safe: once it writes, it is done.
    ///
    /// # Errors
    /// [`Error::Busy`], [`Error::OutcomeUnknown`], [`Error::Corrupt`].
    pub async fn change_service_properties(
        &self,
        account: &AccountName,
        change: impl FnOnce(&mut ServiceProperties) + Send,
    ) -> Result<(), Error> {
        let key = key(account);
        let locked = self.lock(std::slice::from_ref(&key)).await?;
        let mut properties = read(locked.read(&key).await?)?;
        change(&mut properties);
        let mut batch = Batch::with_capacity(1);
        batch.put(key, encode(&PropertiesRecord::from(&properties)));
        locked.commit(batch).await?;
        Ok(())
    }
}
