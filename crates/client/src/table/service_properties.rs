//! Get and Set Table Service Properties.

use super::TableServiceClient;
use super::table_request::{XML, table_request};
use crate::request::Request;
use crate::{Error, Outcome, Result};
use partita_model::ServiceProperties;
use partita_wire::table::Operation;
use partita_wire::{Method, ServicePropertiesUpdate, write_service_properties};

impl TableServiceClient {
    /// The account's analytics settings and CORS rules.
    ///
    /// # Errors
    /// 403 without a shared key or an account SAS that permits it.
    pub async fn get_service_properties(&self) -> Result<ServiceProperties> {
        let request = service_request(
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

    /// Replaces all these settings.
    ///
    /// # Errors
    /// 403 without a shared key or an account SAS that permits it; 400 InvalidXmlDocument for invalid settings.
    pub async fn set_service_properties(&self, properties: &ServiceProperties) -> Result<()> {
        let mut body = Vec::new();
        write_service_properties(properties, &mut body);
        let request = service_request(
            Operation::SetTableServiceProperties,
            Method::Put,
            "properties",
        );
        self.pipeline.send(&request.with_body(XML, body)).await?;
        Ok(())
    }
}

pub(super) fn service_request(operation: Operation, method: Method, comp: &str) -> Request {
    table_request(operation, method, "/".to_owned())
        .with_parameter("restype", "service")
        .with_parameter("comp", comp)
}
