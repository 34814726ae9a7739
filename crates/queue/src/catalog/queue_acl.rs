//! Set Queue ACL. ([`Service::queue`] reads the policies.)

use crate::{Error, Service};
use partita_model::{AccountName, QueueName, SignedIdentifier};
use partita_service::PolicyRecord;

impl Service {
    /// Replaces the stored access policies of a queue. Cancel-safe: if dropped during the commit, the change still
    /// completes.
    ///
    /// # Errors
    /// [`Error::QueueNotFound`], [`Error::Busy`], [`Error::OutcomeUnknown`], [`Error::Corrupt`].
    pub async fn set_access_policies(
        &self,
        account: &AccountName,
        name: &QueueName,
        policies: &[SignedIdentifier],
    ) -> Result<(), Error> {
        self.change_queue(account, name, |record, _| {
            record.policies = policies.iter().map(PolicyRecord::from).collect();
        })
        .await
    }
}
