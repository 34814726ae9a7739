//! Get and Set Queue Service Properties.

use crate::Service;
use partita_model::KeyKind;
use partita_service::AccountProperties;

impl Service {
    /// The properties of accounts in this service.
    #[must_use]
    pub fn properties(&self) -> AccountProperties<'_> {
        self.storage().properties(KeyKind::QUEUE_SERVICE_PROPERTIES)
    }
}
