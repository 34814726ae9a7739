//! Delete Table.

use super::table_request::table_request;
use super::{TableClient, TableServiceClient, encoded};
use crate::Result;
use partita_wire::Method;
use partita_wire::table::Operation;

impl TableServiceClient {
    /// Deletes a table with all its entities.
    ///
    /// # Errors
    /// 404 ResourceNotFound, with [`crate::Outcome::MayHaveHappened`] where an earlier attempt may have deleted it.
    pub async fn delete_table(&self, name: &str) -> Result<()> {
        let path = format!("/Tables('{}')", encoded(name));
        let request = table_request(Operation::DeleteTable, Method::Delete, path);
        self.pipeline.send(&request).await?;
        Ok(())
    }
}

impl TableClient {
    /// Deletes the table with all its entities.
    ///
    /// # Errors
    /// 404 ResourceNotFound.
    pub async fn delete(&self) -> Result<()> {
        self.service.delete_table(self.name()).await
    }
}
