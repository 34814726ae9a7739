//! Get and Set Queue Service Properties.

use super::QueueServiceClient;
use super::queue_request::queue_request;
use crate::Result;
use crate::request::Request;
use partita_model::ServiceProperties;
use partita_wire::Method;
use partita_wire::queue::Operation;

impl QueueServiceClient {
    /// Reads the analytics settings and CORS rules of the account's queues.
    ///
    /// # Errors
    /// 403 with a queue SAS, or an account SAS that does not permit it.
    pub async fn get_service_properties(&self) -> Result<ServiceProperties> {
        let operation = Operation::GetQueueServiceProperties;
        let request = service_request(operation, Method::Get, "properties");
        self.pipeline.get_properties(&request).await
    }

    /// Replaces the analytics settings and CORS rules of the account's queues.
    ///
    /// # Errors
    /// 403 with a queue SAS, or an account SAS that does not permit it; 400 InvalidXmlDocument for invalid settings.
    pub async fn set_service_properties(&self, properties: &ServiceProperties) -> Result<()> {
        let operation = Operation::SetQueueServiceProperties;
        let request = service_request(operation, Method::Put, "properties");
        self.pipeline.set_properties(request, properties).await
    }
}

pub(super) fn service_request(operation: Operation, method: Method, comp: &str) -> Request {
    queue_request(operation, method, "/".to_owned())
        .with_parameter("restype", "service")
        .with_parameter("comp", comp)
}
