//! Get and Set Queue ACL.

use super::QueueClient;
use super::queue_request::queue_request;
use crate::Result;
use partita_model::SignedIdentifier;
use partita_wire::Method;
use partita_wire::queue::{Operation, POLICY_PERMISSIONS};

impl QueueClient {
    /// Reads the queue's stored access policies.
    ///
    /// # Errors
    /// 404 QueueNotFound; 403 with a shared access signature.
    pub async fn get_access_policy(&self) -> Result<Vec<SignedIdentifier>> {
        let request = queue_request(Operation::GetQueueAcl, Method::Get, self.path()?)
            .with_parameter("comp", "acl");
        self.pipeline
            .get_policies(&request, POLICY_PERMISSIONS)
            .await
    }

    /// Replaces the queue's stored access policies; at most five.
    ///
    /// # Errors
    /// As [`Self::get_access_policy`]; 400 InvalidXmlDocument for invalid policies.
    pub async fn set_access_policy(&self, policies: &[SignedIdentifier]) -> Result<()> {
        let request = queue_request(Operation::SetQueueAcl, Method::Put, self.path()?)
            .with_parameter("comp", "acl");
        self.pipeline.set_policies(request, policies).await
    }
}
