//! Delete Entity.

use super::{IfMatch, TableClient};
use crate::Result;
use partita_wire::Method;
use partita_wire::table::Operation;

impl TableClient {
    /// Deletes an existing entity.
    ///
    /// # Errors
    /// 404 ResourceNotFound, with [`crate::Outcome::MayHaveHappened`] if an earlier attempt may have deleted it; 404
    /// TableNotFound; 412 UpdateConditionNotSatisfied if its ETag differs from `if_match`.
    pub async fn delete_entity(
        &self,
        partition_key: &str,
        row_key: &str,
        if_match: &IfMatch,
    ) -> Result<()> {
        let (operation, keys) = (Operation::DeleteEntity, (partition_key, row_key));
        let request = self.entity_request(operation, Method::Delete, keys, Some(if_match));
        self.pipeline.send(&request).await?;
        Ok(())
    }

    /// Deletes the entity with these keys in any version, unless it does not exist. Succeeds if an earlier attempt or
    /// another client has deleted it.
    ///
    /// # Errors
    /// 404 TableNotFound.
    pub async fn delete_entity_if_exists(&self, partition_key: &str, row_key: &str) -> Result<()> {
        let deleted = self.delete_entity(partition_key, row_key, &IfMatch::Any);
        match deleted.await {
            Err(error) if error.is_missing_entity() => Ok(()),
            deleted => deleted,
        }
    }
}
