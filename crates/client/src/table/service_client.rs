//! The client of an account's table service.

use super::table_request::PROTOCOL;
use crate::pipeline::Pipeline;
use crate::{
    ClientOptions, ConnectionString, Credential, Endpoint, Error, ErrorKind, Result, TableClient,
};
use partita_wire::{AccountSasTerms, ServiceKind};
use std::sync::Arc;

/// The tables of an account. Cheap to clone; clones, and the [`TableClient`]s made from it, share connections and retry budget.
#[derive(Debug, Clone)]
pub struct TableServiceClient {
    pub(crate) pipeline: Arc<Pipeline>,
}

impl TableServiceClient {
    /// A client of the account at that endpoint. No connection is made yet.
    ///
    /// # Errors
    /// [`ErrorKind::Tls`] where an authority cannot be read; [`ErrorKind::Credential`] for bearer tokens over plain HTTP to
    /// another machine.
    pub fn new(endpoint: Endpoint, credential: Credential, options: ClientOptions) -> Result<Self> {
        let secondary = endpoint.secondary();
        let pipeline = Pipeline::new(&PROTOCOL, endpoint, secondary, credential, options)?;
        Ok(Self { pipeline })
    }

    /// A client of the account that a connection string names.
    ///
    /// # Errors
    /// [`ErrorKind::Input`] with the [`crate::InvalidConnectionString`] as its source; those of [`Self::new`].
    pub fn from_connection_string(text: &str) -> Result<Self> {
        Self::from_connection_string_with(text, ClientOptions::default())
    }

    /// The same with options.
    ///
    /// # Errors
    /// As [`Self::from_connection_string`].
    pub fn from_connection_string_with(text: &str, options: ClientOptions) -> Result<Self> {
        let parsed = ConnectionString::parse(text)
            .map_err(|error| Error::input(error.to_string()).caused_by(error))?;
        let ConnectionString {
            endpoint,
            secondary,
            credential,
        } = parsed;
        let pipeline = Pipeline::new(&PROTOCOL, endpoint, secondary, credential, options)?;
        Ok(Self { pipeline })
    }

    /// The client of one table, which may not exist yet.
    #[must_use]
    pub fn table_client(&self, name: &str) -> TableClient {
        TableClient::new(self.clone(), name)
    }

    /// The endpoint of the account.
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        &self.pipeline.endpoint
    }

    /// A shared access signature of the account: a query string for [`Credential::Sas`].
    ///
    /// # Errors
    /// [`ErrorKind::Credential`] without a shared key.
    pub fn generate_sas(&self, terms: &AccountSasTerms) -> Result<String> {
        match &self.pipeline.credential {
            Credential::SharedKey { account, key } => {
                Ok(terms.sign(account, key, ServiceKind::Table))
            }
            _ => Err(Error::new(
                ErrorKind::Credential,
                "a shared access signature needs a shared key",
            )),
        }
    }
}
