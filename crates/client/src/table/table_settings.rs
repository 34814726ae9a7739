//! Get and Set Table Settings, an extension of Partita.

use super::TableClient;
use super::table_request::{JSON_BODY, table_request};
use crate::request::Request;
use crate::{Error, Result};
use partita_model::TimeToLive;
use partita_wire::table::{Operation, TableSettings, write_table_settings};
use partita_wire::{ErrorCode, Method};

const SETTINGS: &str = "partita-settings";

impl TableClient {
    /// Reads the table's settings; `None` if the server does not support Partita's extensions.
    ///
    /// # Errors
    /// 404 TableNotFound.
    pub async fn settings(&self) -> Result<Option<TableSettings>> {
        let request = self.extension_request(Operation::GetTableSettings, Method::Get, SETTINGS);
        match self.pipeline.send(&request).await {
            // Azurite ignores the parameter and answers with the table's entities, which are not valid settings.
            Ok(reply) => Ok(TableSettings::read(reply.body()).ok()),
            Err(error) if is_unsupported(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sets how long the table's entities live after their last write; with `None` they do not expire. Older entities
    /// expire at once. Partita only.
    ///
    /// # Errors
    /// 404 TableNotFound; on other servers 400, 405 or 501.
    pub async fn set_time_to_live(&self, ttl: Option<TimeToLive>) -> Result<()> {
        let request = self
            .extension_request(Operation::SetTableSettings, Method::Put, SETTINGS)
            .with_body(JSON_BODY, write_table_settings(ttl));
        self.pipeline.send(&request).await?;
        Ok(())
    }

    pub(super) fn extension_request(
        &self,
        operation: Operation,
        method: Method,
        comp: &'static str,
    ) -> Request {
        table_request(operation, method, self.path()).with_parameter("comp", comp)
    }
}

/// Whether the server does not support the operation.
fn is_unsupported(error: &Error) -> bool {
    error.code() == Some(ErrorCode::InvalidQueryParameterValue)
        || matches!(error.status(), Some(405 | 501))
}
