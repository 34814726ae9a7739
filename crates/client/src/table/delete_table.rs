//! Delete Table.

use super::table_request::table_request;
use super::{TableClient, TableServiceClient};
use crate::Result;
use crate::request::encoded;
use partita_wire::Method;
use partita_wire::table::Operation;

impl TableServiceClient {
    /// Deletes a table with all its entities.
    ///
    /// # Errors
    /// As [`TableClient::delete`].
    pub async fn delete_table(&self, name: &str) -> Result<()> {
        self.table_client(name).delete().await
    }
}

impl TableClient {
    /// Deletes the table with all its entities.
    ///
    /// # Errors
    /// 404 ResourceNotFound, with [`crate::Outcome::MayHaveHappened`] if an earlier attempt may have deleted it.
    pub async fn delete(&self) -> Result<()> {
        let path = format!("/Tables('{}')", encoded(self.name()));
        let request = table_request(Operation::DeleteTable, Method::Delete, path);
        self.pipeline.send(&request).await?;
        Ok(())
    }
}
