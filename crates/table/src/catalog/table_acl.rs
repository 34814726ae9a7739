//! Set Table ACL. ([`Service::table`] reads the policies.)

use crate::{Error, Service};
use partita_model::{AccountName, SignedIdentifier, TableName};
use partita_service::PolicyRecord;

impl Service {
    /// Replaces a table's stored access policies. Cancel-safe: if dropped during the commit, the change still
    /// completes.
    ///
    /// # Errors
    /// [`Error::TableNotFound`], [`Error::Busy`], [`Error::OutcomeUnknown`], [`Error::Corrupt`].
    pub async fn set_access_policies(
        &self,
        account: &AccountName,
        name: &TableName,
        policies: &[SignedIdentifier],
    ) -> Result<(), Error> {
        self.change_table(account, name, |record, _| {
            record.policies = policies.iter().map(PolicyRecord::from).collect();
        })
        .await
    }
}
