//! Get and Set Queue ACL.

use super::QueueClient;
use super::queue_request::{XML, queue_request};
use crate::Result;
use partita_model::SignedIdentifier;
use partita_wire::queue::{Operation, POLICY_PERMISSIONS};
use partita_wire::{Method, read_signed_identifiers, write_signed_identifiers};

impl QueueClient {
    /// Reads the queue's stored access policies.
    ///
    /// # Errors
    /// 404 QueueNotFound; 403 with a shared access signature.
    pub async fn get_access_policy(&self) -> Result<Vec<SignedIdentifier>> {
        let request = queue_request(Operation::GetQueueAcl, Method::Get, self.path()?)
            .with_parameter("comp", "acl");
        let reply = self.pipeline.send(&request).await?;
        read_signed_identifiers(reply.body(), POLICY_PERMISSIONS)
            .map_err(|failure| reply.unreadable(failure))
    }

    /// Replaces the queue's stored access policies; at most five.
    ///
    /// # Errors
    /// As [`Self::get_access_policy`]; 400 InvalidXmlDocument for invalid policies.
    pub async fn set_access_policy(&self, policies: &[SignedIdentifier]) -> Result<()> {
        let mut body = Vec::new();
        write_signed_identifiers(policies, &mut body);
        let request = queue_request(Operation::SetQueueAcl, Method::Put, self.path()?)
            .with_parameter("comp", "acl")
            .with_body(XML, body);
        self.pipeline.send(&request).await?;
        Ok(())
    }
}
