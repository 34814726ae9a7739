//! Get and Set Table ACL.

use super::TableClient;
use super::table_request::table_request;
use crate::Result;
use partita_model::SignedIdentifier;
use partita_wire::Method;
use partita_wire::table::{Operation, POLICY_PERMISSIONS};

impl TableClient {
    /// Reads the table's stored access policies.
    ///
    /// # Errors
    /// 404 TableNotFound; 403 with a shared access signature; 404 ResourceNotFound with a bearer token.
    pub async fn get_access_policy(&self) -> Result<Vec<SignedIdentifier>> {
        let request = table_request(Operation::GetTableAcl, Method::Get, self.path())
            .with_parameter("comp", "acl");
        self.pipeline
            .get_policies(&request, POLICY_PERMISSIONS)
            .await
    }

    /// Replaces the table's stored access policies; at most five.
    ///
    /// # Errors
    /// As [`Self::get_access_policy`]; 400 InvalidXmlDocument for invalid policies.
    pub async fn set_access_policy(&self, policies: &[SignedIdentifier]) -> Result<()> {
        let request = table_request(Operation::SetTableAcl, Method::Put, self.path())
            .with_parameter("comp", "acl");
        self.pipeline.set_policies(request, policies).await
    }
}
