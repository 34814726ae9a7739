//! Get and Set Table Service Properties, Get Table Service Stats.

use super::TableServiceClient;
use crate::request::Request;
use crate::{Error, Outcome, Result};
use partita_model::ServiceProperties;
use partita_wire::{
    GeoReplication, Method, Operation, ServicePropertiesUpdate, read_service_stats,
    write_service_properties,
};

impl TableServiceClient {
    /// The account's settings of analytics and cross-origin rules.
    ///
    /// # Errors
    /// 403 without the rights of the account's owner.
    pub async fn get_service_properties(&self) -> Result<ServiceProperties> {
        let request = request(
            Operation::GetTableServiceProperties,
            Method::Get,
            "properties",
        );
        let reply = self.pipeline.send(&request).await?;
        let mut properties = ServiceProperties::default();
        ServicePropertiesUpdate::read(&reply.answer.body)
            .map_err(|failure| {
                reply
                    .failed(Error::unreadable(failure), Outcome::DidNotHappen)
                    .error
            })?
            .apply(&mut properties);
        Ok(properties)
    }

    /// Replaces all of these settings.
    ///
    /// # Errors
    /// 403 without the rights of the account's owner; 400 InvalidXmlDocument for what the service does not take.
    pub async fn set_service_properties(&self, properties: &ServiceProperties) -> Result<()> {
        let mut body = Vec::new();
        write_service_properties(properties, &mut body);
        let request = request(
            Operation::SetTableServiceProperties,
            Method::Put,
            "properties",
        );
        self.pipeline.send(&request.with_body(body)).await?;
        Ok(())
    }

    /// How the secondary stands to the primary. The secondary is asked.
    ///
    /// # Errors
    /// 403 for an account without a secondary that can be read.
    pub async fn get_service_stats(&self) -> Result<GeoReplication> {
        let mut request = request(Operation::GetTableServiceStats, Method::Get, "stats");
        request.secondary = true;
        let reply = self.pipeline.send(&request).await?;
        read_service_stats(&reply.answer.body).map_err(|failure| {
            reply
                .failed(Error::unreadable(failure), Outcome::DidNotHappen)
                .error
        })
    }
}

fn request(operation: Operation, method: Method, comp: &str) -> Request {
    Request::new(operation, method, "/".to_owned())
        .with_parameter("restype", "service")
        .with_parameter("comp", comp)
}
