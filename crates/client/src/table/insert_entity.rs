//! Insert Entity.

use super::read_back::Write;
use super::table_request::{JSON_BODY, table_request, without_content};
use super::{TableClient, body_of, etag_of};
use crate::{ETag, Entity, Result};
use partita_wire::Method;
use partita_wire::table::Operation;

impl TableClient {
    /// Inserts a new entity and returns its ETag.
    ///
    /// # Errors
    /// 409 EntityAlreadyExists; 404 TableNotFound; 400 if the entity exceeds a limit, such as 252 properties or 1 MiB.
    pub async fn create_entity(&self, entity: &Entity) -> Result<ETag> {
        let request = table_request(Operation::InsertEntity, Method::Post, self.path());
        let request = without_content(request).with_body(JSON_BODY, body_of(entity));
        match self.pipeline.send(&request).await {
            Ok(reply) => Ok(etag_of(&reply)),
            Err(failed) => self.read_back(failed, &Write::Set(entity)).await,
        }
    }
}
