//! Get and Set Table ACL.

use super::TableClient;
use crate::request::Request;
use crate::{Error, Outcome, Result};
use partita_model::SignedIdentifier;
use partita_wire::{Method, Operation, read_signed_identifiers, write_signed_identifiers};

impl TableClient {
    /// The table's stored access policies.
    ///
    /// # Errors
    /// 404 TableNotFound; 403 for any credential but a shared key.
    pub async fn get_access_policy(&self) -> Result<Vec<SignedIdentifier>> {
        let request = Request::new(Operation::GetTableAcl, Method::Get, self.path())
            .with_parameter("comp", "acl");
        let reply = self.pipeline().send(&request).await?;
        read_signed_identifiers(&reply.answer.body).map_err(|failure| {
            reply
                .failed(Error::unreadable(failure), Outcome::DidNotHappen)
                .error
        })
    }

    /// Replaces the table's stored access policies, five at most.
    ///
    /// # Errors
    /// As [`Self::get_access_policy`]; 400 InvalidXmlDocument for what the service does not take.
    pub async fn set_access_policy(&self, policies: &[SignedIdentifier]) -> Result<()> {
        let mut body = Vec::new();
        write_signed_identifiers(policies, &mut body);
        let request = Request::new(Operation::SetTableAcl, Method::Put, self.path())
            .with_parameter("comp", "acl")
            .with_body(body);
        self.pipeline().send(&request).await?;
        Ok(())
    }
}
