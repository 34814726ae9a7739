//! Insert Entity.

use super::read_back::Write;
use super::table_request::{JSON_BODY, table_request, without_content};
use super::write_proof::{Proof, stamped};
use super::{TableClient, body_of, etag_of};
use crate::{ETag, Entity, Result};
use partita_wire::Method;
use partita_wire::table::Operation;
use serde::Serialize;

impl TableClient {
    /// Inserts a struct or map as a new entity, see [`Entity::from_serialize`], and returns its ETag.
    ///
    /// # Errors
    /// As [`Self::create_entity`]; [`crate::ErrorKind::Input`], caused by a [`crate::ConvertError`], if the value cannot
    /// be an entity.
    pub async fn create_entity_from(&self, value: &impl Serialize) -> Result<ETag> {
        let entity = self.entity_of(Operation::InsertEntity, value)?;
        self.create_entity(&entity).await
    }

    /// Inserts a new entity and returns its ETag.
    ///
    /// # Errors
    /// 409 EntityAlreadyExists, with [`crate::Outcome::MayHaveHappened`] if an earlier attempt may have inserted the
    /// entity ([`crate::UnknownOutcome`]); 404 TableNotFound; 400 if the entity exceeds a limit, such as 252 properties or 1 MiB.
    pub async fn create_entity(&self, entity: &Entity) -> Result<ETag> {
        let request = table_request(Operation::InsertEntity, Method::Post, self.path());
        let proof = Proof::of_write(self.unknown_outcome);
        let entity = stamped(entity, proof);
        let mut request = without_content(request).with_body(JSON_BODY, body_of(&entity));
        request = request.with_place(self.name(), entity.partition_key());
        request.subject = Some(self.subject(entity.partition_key(), entity.row_key()));
        match self.pipeline.send(&request).await {
            Ok(reply) => Ok(etag_of(&reply)),
            Err(failed) => self.read_back(failed, &Write::Set(&entity), proof).await,
        }
    }
}
