//! Truncate Table, an extension of Partita.

use super::TableClient;
use crate::Result;
use partita_wire::Method;
use partita_wire::table::Operation;

impl TableClient {
    /// Deletes all entities of the table in one step, however many there are. Partita only.
    ///
    /// # Errors
    /// 404 TableNotFound; on other servers 400, 405 or 501.
    pub async fn truncate(&self) -> Result<()> {
        let request =
            self.extension_request(Operation::TruncateTable, Method::Post, "partita-truncate");
        self.pipeline.send(&request).await?;
        Ok(())
    }
}
