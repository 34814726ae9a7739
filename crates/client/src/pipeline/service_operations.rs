//! Operations that tables and queues have in common: the requests differ, the bodies are the same.

use super::{Pipeline, Protocol};
use crate::request::{Request, XML};
use crate::{ClientOptions, ConnectionString, Credential, Endpoint, Error};
use partita_model::{ServiceProperties, SignedIdentifier};
use partita_wire::{
    AccountSasTerms, GeoReplication, ServicePropertiesUpdate, read_service_stats,
    read_signed_identifiers, write_service_properties, write_signed_identifiers,
};
use std::sync::Arc;

impl Pipeline {
    /// The pipeline of the account at an endpoint.
    pub(crate) fn at(
        protocol: &'static Protocol,
        endpoint: Endpoint,
        credential: Credential,
        options: ClientOptions,
    ) -> Result<Arc<Self>, Error> {
        let account = ConnectionString {
            secondary: endpoint.secondary(),
            endpoint,
            credential,
        };
        Self::new(protocol, account, options)
    }

    /// The pipeline of the account in the text of a [`ConnectionString`].
    pub(crate) fn of_connection_string(
        protocol: &'static Protocol,
        text: &str,
        options: ClientOptions,
    ) -> Result<Arc<Self>, Error> {
        let account = ConnectionString::parse_for(text, protocol.service)
            .map_err(|error| Error::input(error.to_string()).caused_by(error))?;
        Self::new(protocol, account, options)
    }

    /// Makes a shared access signature of the account for its service.
    pub(crate) fn account_sas(&self, terms: &AccountSasTerms) -> Result<String, Error> {
        let (account, key) = self.shared_key()?;
        Ok(terms.sign(&account, &key, self.protocol.service))
    }

    /// Reads the properties of the service.
    pub(crate) async fn get_properties(
        &self,
        request: &Request,
    ) -> Result<ServiceProperties, Error> {
        let reply = self.send(request).await?;
        let mut properties = ServiceProperties::default();
        ServicePropertiesUpdate::read(reply.body())
            .map_err(|failure| reply.unreadable(failure))?
            .apply(&mut properties);
        Ok(properties)
    }

    /// Replaces the properties of the service.
    pub(crate) async fn set_properties(
        &self,
        request: Request,
        properties: &ServiceProperties,
    ) -> Result<(), Error> {
        let mut body = Vec::new();
        write_service_properties(properties, &mut body);
        self.send(&request.with_body(XML, body)).await?;
        Ok(())
    }

    /// Reads the replication state of the account, from its secondary endpoint.
    pub(crate) async fn get_stats(&self, mut request: Request) -> Result<GeoReplication, Error> {
        request.secondary = true;
        let reply = self.send(&request).await?;
        read_service_stats(reply.body()).map_err(|failure| reply.unreadable(failure))
    }

    /// Reads the stored access policies of a table or queue. `permissions` are those that its policies may have, in
    /// order.
    pub(crate) async fn get_policies(
        &self,
        request: &Request,
        permissions: &str,
    ) -> Result<Vec<SignedIdentifier>, Error> {
        let reply = self.send(request).await?;
        read_signed_identifiers(reply.body(), permissions)
            .map_err(|failure| reply.unreadable(failure))
    }

    /// Replaces the stored access policies of a table or queue.
    pub(crate) async fn set_policies(
        &self,
        request: Request,
        policies: &[SignedIdentifier],
    ) -> Result<(), Error> {
        let mut body = Vec::new();
        write_signed_identifiers(policies, &mut body);
        self.send(&request.with_body(XML, body)).await?;
        Ok(())
    }
}
