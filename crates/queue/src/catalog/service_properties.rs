//! Get and Set Queue Service Properties.

use crate::{Error, Service};
use partita_model::{AccountName, KeyKind, ServiceProperties};

const KIND: KeyKind = KeyKind::QUEUE_SERVICE_PROPERTIES;

impl Service {
    /// The account's properties; the defaults if they were never set.
    ///
    /// # Errors
    /// [`Error::Busy`], [`Error::Corrupt`].
    pub async fn service_properties(
        &self,
        account: &AccountName,
    ) -> Result<ServiceProperties, Error> {
        Ok(self.storage().service_properties(KIND, account).await?)
    }

    /// Changes some of the account's properties: `change` receives the current ones. Cancel-safe: if dropped during the
    /// write, the change still completes.
    ///
    /// # Errors
    /// [`Error::Busy`], [`Error::OutcomeUnknown`], [`Error::Corrupt`].
    pub async fn change_service_properties(
        &self,
        account: &AccountName,
        change: impl FnOnce(&mut ServiceProperties) + Send,
    ) -> Result<(), Error> {
        let storage = self.storage();
        Ok(storage
            .change_service_properties(KIND, account, change)
            .await?)
    }
}
