//! Insert Entity.

use super::{TableClient, body_of, etag_of, read_back::Write};
use crate::request::Request;
use crate::{ETag, Entity, Result};
use partita_wire::{Method, Operation};

impl TableClient {
    /// Inserts an entity that is not there yet, and gives its version.
    ///
    /// # Errors
    /// 409 EntityAlreadyExists; 404 TableNotFound; 400 for what breaks a limit.
    pub async fn create_entity(&self, entity: &Entity) -> Result<ETag> {
        let mut request = Request::new(Operation::InsertEntity, Method::Post, self.path());
        request.quiet = true;
        let request = request.with_body(body_of(entity));
        match self.pipeline().send(&request).await {
            Ok(reply) => Ok(etag_of(&reply)),
            Err(failed) => self.told_apart(failed, &Write::Set(entity)).await,
        }
    }
}
