//! Settings of a table, which the Azure service does not have. ([`Service::table`] reads them.)

use crate::{Error, Service};
use partita_model::{AccountName, TableName, TimeToLive};

impl Service {
    /// Sets how long the entities of a table live after their last write; `None` means unlimited. Takes effect
    /// immediately, also for existing entities: reads omit expired entities, and a background task removes them. If the
    /// time to live is increased before an expired entity is removed, the entity becomes visible again.
    ///
    /// Cancel-safe: if dropped during the commit, the change still completes.
    ///
    /// # Errors
    /// [`Error::TableNotFound`], [`Error::Busy`], [`Error::OutcomeUnknown`], [`Error::Corrupt`].
    pub async fn set_time_to_live(
        &self,
        account: &AccountName,
        name: &TableName,
        ttl: Option<TimeToLive>,
    ) -> Result<(), Error> {
        self.change_table(account, name, |record, _| {
            record.ttl_seconds = ttl.map(TimeToLive::seconds);
        })
        .await?;
        self.ttl_changed.notify_one();
        Ok(())
    }
}
