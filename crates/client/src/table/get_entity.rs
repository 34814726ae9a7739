//! Get Entity.

use super::TableClient;
use super::entity::read_entity;
use super::page::with_keys;
use crate::{Entity, Error, Result};
use partita_wire::Method;
use partita_wire::table::Operation;
use serde::de::DeserializeOwned;

impl TableClient {
    /// Reads the entity with these keys.
    ///
    /// # Errors
    /// 404 ResourceNotFound or TableNotFound.
    pub async fn get_entity(&self, partition_key: &str, row_key: &str) -> Result<Entity> {
        self.get(partition_key, row_key, String::new()).await
    }

    /// Reads the entity with these keys, but only the properties in `select`. The keys are always included.
    ///
    /// # Errors
    /// As [`Self::get_entity`].
    pub async fn get_entity_selected(
        &self,
        partition_key: &str,
        row_key: &str,
        select: &[&str],
    ) -> Result<Entity> {
        self.get(partition_key, row_key, with_keys(select)).await
    }

    /// Reads the entity with these keys; `None` if the entity does not exist.
    ///
    /// # Errors
    /// As [`Self::get_entity`], except 404 ResourceNotFound.
    pub async fn get_entity_if_exists(
        &self,
        partition_key: &str,
        row_key: &str,
    ) -> Result<Option<Entity>> {
        match self.get_entity(partition_key, row_key).await {
            Ok(entity) => Ok(Some(entity)),
            Err(error) if error.is_missing_entity() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads the entity with these keys as a struct, see [`Entity::into_typed`].
    ///
    /// # Errors
    /// As [`Self::get_entity`]; [`crate::ErrorKind::Unreadable`], caused by a [`crate::ConvertError`], if the entity
    /// does not match the struct.
    pub async fn get_entity_as<T: DeserializeOwned>(
        &self,
        partition_key: &str,
        row_key: &str,
    ) -> Result<T> {
        let entity = self.get_entity(partition_key, row_key).await?;
        entity.into_typed().map_err(|error| {
            let subject = self.subject(partition_key, row_key);
            Error::mismatch(Operation::GetEntity.name(), subject, error)
        })
    }

    async fn get(&self, partition_key: &str, row_key: &str, select: String) -> Result<Entity> {
        let keys = (partition_key, row_key);
        let mut request = self.entity_request(Operation::GetEntity, Method::Get, keys, None);
        request.secondary = self.reads_secondary;
        if !select.is_empty() {
            request = request.with_parameter("$select", &select);
        }
        let reply = self.pipeline.send(&request).await?;
        read_entity(reply.body()).map_err(|failure| reply.unreadable(failure))
    }
}
