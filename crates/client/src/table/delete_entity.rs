//! Delete Entity.

use super::{IfMatch, TableClient};
use crate::Result;
use partita_wire::Method;
use partita_wire::table::Operation;

impl TableClient {
    /// Deletes an entity that is there.
    ///
    /// # Errors
    /// 404 ResourceNotFound, with [`crate::Outcome::MayHaveHappened`] where an attempt before may have deleted it; 412
    /// UpdateConditionNotSatisfied where it is in another version.
    pub async fn delete_entity(
        &self,
        partition_key: &str,
        row_key: &str,
        if_match: &IfMatch,
    ) -> Result<()> {
        let keys = (partition_key, row_key);
        let request = self.entity_request(
            Operation::DeleteEntity,
            Method::Delete,
            keys,
            Some(if_match),
        );
        self.pipeline().send(&request).await?;
        Ok(())
    }
}
