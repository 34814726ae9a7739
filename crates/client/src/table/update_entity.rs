//! Update, Merge, Insert Or Replace and Insert Or Merge Entity.

use super::read_back::Write;
use super::table_request::JSON_BODY;
use super::write_proof::{Proof, stamped};
use super::{IfMatch, TableClient, UpdateMode, body_of, etag_of};
use crate::{ETag, Entity, Result};
use partita_wire::table::Operation;
use serde::Serialize;

impl TableClient {
    /// Changes an existing entity and returns its new ETag.
    ///
    /// # Errors
    /// 404 ResourceNotFound or TableNotFound; 412 UpdateConditionNotSatisfied if its ETag differs from `if_match`, with
    /// [`crate::Outcome::MayHaveHappened`] if an earlier attempt may have changed it ([`crate::UnknownOutcome`]); 400 if the entity exceeds a limit, such as 252 properties or 1 MiB.
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

    /// Changes an existing entity to a struct or map, see [`Entity::from_serialize`], and returns its new ETag. A field
    /// with `None` is absent: [`UpdateMode::Replace`] removes its property, [`UpdateMode::Merge`] keeps it.
    ///
    /// # Errors
    /// As [`Self::update_entity`]; [`crate::ErrorKind::Input`], caused by a [`crate::ConvertError`], if the value cannot
    /// be an entity.
    pub async fn update_entity_from(
        &self,
        value: &impl Serialize,
        mode: UpdateMode,
        if_match: &IfMatch,
    ) -> Result<ETag> {
        let entity = self.entity_of(operation_of(mode, Some(if_match)), value)?;
        self.update_entity(&entity, mode, if_match).await
    }

    /// Changes an existing entity to a struct or map or inserts a new one, see [`Entity::from_serialize`], and returns
    /// its new ETag.
    ///
    /// # Errors
    /// As [`Self::upsert_entity`]; [`crate::ErrorKind::Input`], caused by a [`crate::ConvertError`], if the value cannot
    /// be an entity.
    pub async fn upsert_entity_from(
        &self,
        value: &impl Serialize,
        mode: UpdateMode,
    ) -> Result<ETag> {
        let entity = self.entity_of(operation_of(mode, None), value)?;
        self.upsert_entity(&entity, mode).await
    }

    async fn write_entity(
        &self,
        entity: &Entity,
        mode: UpdateMode,
        if_match: Option<&IfMatch>,
    ) -> Result<ETag> {
        let operation = operation_of(mode, if_match);
        let proof = Proof::of_write(self.unknown_outcome);
        let entity = stamped(entity, proof);
        let keys = (entity.partition_key(), entity.row_key());
        let request = self
            .entity_request(operation, mode.method(), keys, if_match)
            .with_body(JSON_BODY, body_of(&entity));
        match self.pipeline.send(&request).await {
            Ok(reply) => Ok(etag_of(&reply)),
            Err(failed) => {
                let write = Write::of_mode(&entity, mode);
                self.read_back(failed, &write, proof).await
            }
        }
    }
}

const fn operation_of(mode: UpdateMode, if_match: Option<&IfMatch>) -> Operation {
    match (mode, if_match) {
        (UpdateMode::Merge, Some(_)) => Operation::MergeEntity,
        (UpdateMode::Merge, None) => Operation::InsertOrMergeEntity,
        (UpdateMode::Replace, Some(_)) => Operation::UpdateEntity,
        (UpdateMode::Replace, None) => Operation::InsertOrReplaceEntity,
    }
}
