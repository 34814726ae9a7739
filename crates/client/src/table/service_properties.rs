//! Get and Set Table Service Properties.

use super::TableServiceClient;
use super::table_request::table_request;
use crate::Result;
use crate::request::Request;
use partita_model::ServiceProperties;
use partita_wire::Method;
use partita_wire::table::Operation;

impl TableServiceClient {
    /// Reads the account's analytics settings and CORS rules.
    ///
    /// # Errors
    /// 403 with a table SAS, or an account SAS that does not permit it.
    pub async fn get_service_properties(&self) -> Result<ServiceProperties> {
        let operation = Operation::GetTableServiceProperties;
        let request = service_request(operation, Method::Get, "properties");
        self.pipeline.get_properties(&request).await
    }

    /// Replaces the account's analytics settings and CORS rules.
    ///
    /// # Errors
    /// 403 with a table SAS, or an account SAS that does not permit it; 400 InvalidXmlDocument for invalid settings.
    pub async fn set_service_properties(&self, properties: &ServiceProperties) -> Result<()> {
        let operation = Operation::SetTableServiceProperties;
        let request = service_request(operation, Method::Put, "properties");
        self.pipeline.set_properties(request, properties).await
    }
}

pub(super) fn service_request(operation: Operation, method: Method, comp: &str) -> Request {
    table_request(operation, method, "/".to_owned())
        .with_parameter("restype", "service")
        .with_parameter("comp", comp)
}
