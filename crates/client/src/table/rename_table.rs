//! Rename Table, an extension of Partita.

use super::TableClient;
use super::table_request::JSON_BODY;
use crate::Result;
use partita_wire::Method;
use partita_wire::table::{Operation, write_rename};
use std::sync::Arc;

impl TableClient {
    /// Renames the table of any size in one step, and returns a client with the new name. The entities keep their
    /// ETags. Partita only.
    ///
    /// # Errors
    /// 404 TableNotFound, with [`crate::Outcome::MayHaveHappened`] if an earlier attempt may have renamed it; 409
    /// TableAlreadyExists; 400 for an invalid name; on other servers 400, 405 or 501.
    pub async fn rename(&self, to: &str) -> Result<Self> {
        let request = self
            .extension_request(Operation::RenameTable, Method::Post, "partita-rename")
            .with_body(JSON_BODY, write_rename(to));
        self.pipeline.send(&request).await?;
        let renamed = Self::new(Arc::clone(&self.pipeline), to);
        Ok(renamed.with_unknown_outcome(self.unknown_outcome))
    }
}
