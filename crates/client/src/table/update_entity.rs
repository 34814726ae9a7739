//! Update, Merge, Insert Or Replace and Insert Or Merge Entity.

use super::read_back::Write;
use super::table_request::JSON_BODY;
use super::{IfMatch, TableClient, UpdateMode, body_of, etag_of};
use crate::{ETag, Entity, Result};
use partita_wire::table::Operation;

impl TableClient {
    /// Changes an existing entity and returns its new ETag.
    ///
    /// # Errors
    /// 404 ResourceNotFound or TableNotFound; 412 UpdateConditionNotSatisfied if its ETag differs from `if_match`; 400
    /// if the entity exceeds a limit, such as 252 properties or 1 MiB.
    pub async fn update_entity(
        &self,
        entity: &Entity,
        mode: UpdateMode,
        if_match: &IfMatch,
    ) -> Result<ETag> {
        self.write_entity(entity, mode, Some(if_match)).await
    }

    /// Changes an existing entity or inserts a new one, and returns its new ETag.
    ///
    /// # Errors
    /// 404 TableNotFound; 400 if the entity exceeds a limit, such as 252 properties or 1 MiB.
    pub async fn upsert_entity(&self, entity: &Entity, mode: UpdateMode) -> Result<ETag> {
        self.write_entity(entity, mode, None).await
    }

    async fn write_entity(
        &self,
        entity: &Entity,
        mode: UpdateMode,
        if_match: Option<&IfMatch>,
    ) -> Result<ETag> {
        let operation = match (mode, if_match) {
            (UpdateMode::Merge, Some(_)) => Operation::MergeEntity,
            (UpdateMode::Merge, None) => Operation::InsertOrMergeEntity,
            (UpdateMode::Replace, Some(_)) => Operation::UpdateEntity,
            (UpdateMode::Replace, None) => Operation::InsertOrReplaceEntity,
        };
        let keys = (entity.partition_key(), entity.row_key());
        let request = self
            .entity_request(operation, mode.method(), keys, if_match)
            .with_body(JSON_BODY, body_of(entity));
        match self.pipeline.send(&request).await {
            Ok(reply) => Ok(etag_of(&reply)),
            Err(failed) => self.read_back(failed, &Write::of_mode(entity, mode)).await,
        }
    }
}
