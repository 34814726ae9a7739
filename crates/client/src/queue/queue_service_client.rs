//! The client of an account's queue service.

use super::QueueClient;
use super::queue_request::PROTOCOL;
use crate::pipeline::Pipeline;
use crate::{ClientOptions, Credential, Endpoint, Result};
use partita_wire::AccountSasTerms;
use std::fmt;
use std::sync::Arc;

/// The queue service of an account. Cheap to clone; clones, and the [`QueueClient`]s made from it, share connections
/// and retry budget.
#[derive(Clone)]
pub struct QueueServiceClient {
    pub(super) pipeline: Arc<Pipeline>,
}

impl QueueServiceClient {
    /// A client of the account at `endpoint`, the one of its queues; its secondary is [`Endpoint::secondary`]. Does not
    /// connect yet.
    ///
    /// # Errors
    /// As [`crate::TableServiceClient::new`].
    pub fn new(endpoint: Endpoint, credential: Credential, options: ClientOptions) -> Result<Self> {
        let pipeline = Pipeline::at(&PROTOCOL, endpoint, credential, options)?;
        Ok(Self { pipeline })
    }

    /// A client of the account in a [`crate::ConnectionString`], with default options.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Input`], caused by a [`crate::InvalidConnectionString`]; the errors of [`Self::new`].
    pub fn from_connection_string(text: &str) -> Result<Self> {
        Self::from_connection_string_with(text, ClientOptions::default())
    }

    /// A client of the account in a [`crate::ConnectionString`].
    ///
    /// # Errors
    /// As [`Self::from_connection_string`].
    pub fn from_connection_string_with(text: &str, options: ClientOptions) -> Result<Self> {
        let pipeline = Pipeline::of_connection_string(&PROTOCOL, text, options)?;
        Ok(Self { pipeline })
    }

    /// The client of a queue. The queue need not exist.
    #[must_use]
    pub fn queue_client(&self, name: &str) -> QueueClient {
        QueueClient::new(Arc::clone(&self.pipeline), name)
    }

    /// The endpoint of the account's queues.
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        &self.pipeline.account.endpoint
    }

    /// Makes a shared access signature of the account for its queues: a query string for [`Credential::Sas`].
    ///
    /// # Errors
    /// [`crate::ErrorKind::Credential`] if this client has no shared key.
    pub fn generate_sas(&self, terms: &AccountSasTerms) -> Result<String> {
        self.pipeline.account_sas(terms)
    }
}

impl fmt::Debug for QueueServiceClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "QueueServiceClient({:?})", self.pipeline)
    }
}
