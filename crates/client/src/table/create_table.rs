//! Create Table.

use super::table_request::{JSON_BODY, table_request, without_content};
use super::{TableClient, TableServiceClient};
use crate::Result;
use partita_wire::table::{Operation, write_table_name};
use partita_wire::{ErrorCode, Method};

impl TableServiceClient {
    /// Creates a table.
    ///
    /// # Errors
    /// As [`TableClient::create`].
    pub async fn create_table(&self, name: &str) -> Result<TableClient> {
        let table = self.table_client(name);
        table.create().await?;
        Ok(table)
    }

    /// Creates a table unless it exists.
    ///
    /// # Errors
    /// As [`TableClient::create`], except 409 TableAlreadyExists.
    pub async fn create_table_if_not_exists(&self, name: &str) -> Result<TableClient> {
        match self.create_table(name).await {
            Err(error) if error.code() == Some(ErrorCode::TableAlreadyExists) => {
                Ok(self.table_client(name))
            }
            created => created,
        }
    }
}

impl TableClient {
    /// Creates the table. A valid name has 3 to 63 letters and digits and begins with a letter.
    ///
    /// # Errors
    /// 409 TableAlreadyExists or TableBeingDeleted; 400 for an invalid name. A 409 after an attempt that may have
    /// created the table has [`crate::Outcome::MayHaveHappened`].
    pub async fn create(&self) -> Result<()> {
        let mut body = Vec::new();
        write_table_name(self.name(), &mut body);
        let path = "/Tables".to_owned();
        let request = table_request(Operation::CreateTable, Method::Post, path);
        let request = without_content(request).with_body(JSON_BODY, body);
        self.pipeline.send(&request).await?;
        Ok(())
    }
}
