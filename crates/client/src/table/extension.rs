//! What Partita does with tables beyond the Table service.

use super::TableClient;
use crate::request::Request;
use crate::{Error, Result};
use partita_model::TimeToLive;
use partita_wire::{
    ErrorCode, Method, Operation, TableSettings, write_rename, write_table_settings,
};

impl TableClient {
    /// What the table is like; `None` where the server does not know this operation, and so none of the others here.
    ///
    /// # Errors
    /// 404 TableNotFound.
    pub async fn settings(&self) -> Result<Option<TableSettings>> {
        let request = self.extension(Operation::GetTableSettings, Method::Get, "partita-settings");
        match self.pipeline().send(&request).await {
            // Azurite takes it for a query of the table's entities.
            Ok(reply) => Ok(TableSettings::read(&reply.answer.body).ok()),
            Err(failed) if is_unknown(&failed.error) => Ok(None),
            Err(failed) => Err(failed.into()),
        }
    }

    /// Sets how long the table's entities live after their last write; without, for ever. Those that are older are gone at once.
    /// Partita only.
    ///
    /// # Errors
    /// 404 TableNotFound; on other servers 400, 405 or 501.
    pub async fn set_time_to_live(&self, ttl: Option<TimeToLive>) -> Result<()> {
        let request = self
            .extension(Operation::SetTableSettings, Method::Put, "partita-settings")
            .with_body(write_table_settings(ttl));
        self.pipeline().send(&request).await?;
        Ok(())
    }

    /// Gives the table another name, instantly, whatever its size; its entities keep their ETags. Partita only. The client of
    /// the table by its new name.
    ///
    /// # Errors
    /// 404 TableNotFound, with [`crate::Outcome::MayHaveHappened`] where an attempt before may have renamed it; 409
    /// TableAlreadyExists; 400 for a name that is none; on other servers 400, 405 or 501.
    pub async fn rename(&self, to: &str) -> Result<Self> {
        let request = self
            .extension(Operation::RenameTable, Method::Post, "partita-rename")
            .with_body(write_rename(to));
        self.pipeline().send(&request).await?;
        Ok(self.service.table_client(to))
    }

    /// Removes all entities, instantly, however many. Partita only.
    ///
    /// # Errors
    /// 404 TableNotFound; on other servers 400, 405 or 501.
    pub async fn truncate(&self) -> Result<()> {
        let request = self.extension(Operation::TruncateTable, Method::Post, "partita-truncate");
        self.pipeline().send(&request).await?;
        Ok(())
    }

    fn extension(&self, operation: Operation, method: Method, comp: &'static str) -> Request {
        Request::new(operation, method, self.path()).with_parameter("comp", comp)
    }
}

/// Whether the server has never heard of what it was asked.
fn is_unknown(error: &Error) -> bool {
    error.code() == Some(ErrorCode::InvalidQueryParameterValue)
        || matches!(error.status(), Some(405 | 501))
}
