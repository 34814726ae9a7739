//! The client of one table.

use super::table_request::table_request;
use crate::pipeline::{Pipeline, Reply};
use crate::request::{Request, encoded};
use crate::{ETag, Endpoint, Entity, Error, Result, UnknownOutcome};
use partita_wire::Method;
use partita_wire::table::{Operation, TableSasTerms, push_entity_path, write_entity};
use serde::Serialize;
use std::fmt;
use std::sync::Arc;

/// A table. Cheap to clone; clones share connections and retry budget with their [`crate::TableServiceClient`].
///
/// # Retried writes
/// A write is retried even if an earlier attempt may have happened. The last answer may then be the effect of that
/// attempt, or of another client:
///
/// | write | answer after an attempt that may have happened | [`UnknownOutcome::AssumeFromEqualContent`] reads back, and succeeds |
/// | --- | --- | --- |
/// | insert | 409 | if the entity has exactly these properties |
/// | update with an ETag | 412 | if the entity has exactly these properties; after a merge, at least these |
/// | transaction | 409, 412, 404 | if all written entities can be read and all deleted ones are gone |
/// | delete | 404 | never |
///
/// By default, the write fails with the answer and [`crate::Outcome::MayHaveHappened`]. With
/// [`UnknownOutcome::WriteStamp`], the client finds out exactly whether it was its own write, except for a single delete.
/// A lock needs one of these two: with equal content, two clients may both get it.
#[derive(Clone)]
pub struct TableClient {
    pub(super) pipeline: Arc<Pipeline>,
    name: Arc<str>,
    pub(super) unknown_outcome: UnknownOutcome,
    /// Whether reads are sent to the secondary endpoint.
    pub(super) reads_secondary: bool,
}

/// How an update or upsert handles stored properties that the new entity lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UpdateMode {
    /// Keeps these properties.
    Merge,
    /// Removes these properties.
    Replace,
}

/// The condition of a write: which version of the entity it may change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IfMatch {
    /// Any version; the entity must exist.
    Any,
    /// The version with this ETag.
    ETag(ETag),
}

impl IfMatch {
    /// The value of `If-Match`.
    pub(crate) fn header(&self) -> &str {
        match self {
            Self::Any => "*",
            Self::ETag(etag) => etag.as_str(),
        }
    }
}

impl fmt::Debug for TableClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TableClient({} at {:?})", self.name, self.pipeline)
    }
}

impl From<ETag> for IfMatch {
    fn from(etag: ETag) -> Self {
        Self::ETag(etag)
    }
}

impl From<&ETag> for IfMatch {
    fn from(etag: &ETag) -> Self {
        Self::ETag(etag.clone())
    }
}

impl UpdateMode {
    pub(crate) const fn method(self) -> Method {
        match self {
            Self::Merge => Method::Patch,
            Self::Replace => Method::Put,
        }
    }
}

impl TableClient {
    pub(super) fn new(pipeline: Arc<Pipeline>, name: &str) -> Self {
        Self {
            unknown_outcome: pipeline.options.unknown_outcome,
            reads_secondary: false,
            pipeline,
            name: name.into(),
        }
    }

    /// The same table, with another reaction to writes of unknown outcome than [`crate::ClientOptions`] has.
    #[must_use]
    pub fn with_unknown_outcome(self, unknown_outcome: UnknownOutcome) -> Self {
        Self {
            unknown_outcome,
            ..self
        }
    }

    /// The same table, with reads of entities from the account's secondary endpoint, which may have older data: for
    /// example, if the primary does not answer. Writes still go to the primary.
    ///
    /// ```
    /// # mod server { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/server.rs")); }
    /// # server::on_a_server(async |connection_string| {
    /// # use partita_client::*;
    /// # let service = TableServiceClient::from_connection_string(&connection_string)?;
    /// # let table = service.create_table("letters").await?;
    /// # table.create_entity(&Entity::new("p", "r")).await?;
    /// let entity = match table.get_entity("p", "r").await {
    ///     Err(error) if error.is_retried() => table.on_secondary().get_entity("p", "r").await?,
    ///     entity => entity?,
    /// };
    /// # assert_eq!(entity.row_key(), "r");
    /// # assert_eq!(table.on_secondary().get_entity("p", "r").await?, entity);
    /// # Ok(()) });
    /// ```
    #[must_use]
    pub fn on_secondary(&self) -> Self {
        Self {
            reads_secondary: true,
            ..self.clone()
        }
    }

    /// The table's name, as passed to [`crate::TableServiceClient::table_client`].
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The endpoint of the account.
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        &self.pipeline.account.endpoint
    }

    /// Makes a shared access signature of this table: a query string for [`crate::Credential::Sas`]. Ignores
    /// `terms.table`.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Credential`] if this client has no shared key.
    pub fn generate_sas(&self, terms: &TableSasTerms) -> Result<String> {
        let (account, key) = self.pipeline.shared_key()?;
        let terms = TableSasTerms {
            table: self.name.to_string(),
            ..terms.clone()
        };
        Ok(terms.sign(&account, &key))
    }

    /// `/name`
    pub(super) fn path(&self) -> String {
        format!("/{}", encoded(&self.name))
    }

    /// `/name(PartitionKey='…',RowKey='…')`
    pub(super) fn entity_path(&self, partition_key: &str, row_key: &str) -> String {
        let mut path = vec![b'/'];
        push_entity_path(&encoded(&self.name), partition_key, row_key, &mut path);
        String::from_utf8(path).expect("an encoded path is ASCII")
    }

    /// `name(PartitionKey='…',RowKey='…')`, not encoded: how errors name an entity.
    pub(super) fn subject(&self, partition_key: &str, row_key: &str) -> String {
        let [partition_key, row_key] = [partition_key, row_key].map(|key| key.replace('\'', "''"));
        format!(
            "{}(PartitionKey='{partition_key}',RowKey='{row_key}')",
            self.name
        )
    }

    /// The entity of a struct or map, for a write.
    pub(super) fn entity_of(&self, operation: Operation, value: &impl Serialize) -> Result<Entity> {
        Entity::from_serialize(value).map_err(|error| {
            let error = Error::input("the value cannot be an entity").caused_by(error);
            error.about(operation.name(), Arc::clone(&self.name))
        })
    }

    pub(super) fn entity_request(
        &self,
        operation: Operation,
        method: Method,
        keys: (&str, &str),
        if_match: Option<&IfMatch>,
    ) -> Request {
        let mut request = table_request(operation, method, self.entity_path(keys.0, keys.1))
            .with_place(&self.name, keys.0);
        request.if_match = if_match.map(|if_match| if_match.header().to_owned());
        request
    }
}

/// The JSON body of a write.
pub(super) fn body_of(entity: &Entity) -> Vec<u8> {
    let mut body = Vec::with_capacity(256);
    let properties = entity.iter().map(|(name, value)| (name, value.as_ref()));
    write_entity(
        entity.partition_key(),
        entity.row_key(),
        properties,
        &mut body,
    );
    body
}

/// The ETag of a write's answer; empty if the answer has none.
pub(super) fn etag_of(reply: &Reply) -> ETag {
    ETag::from(reply.header("etag").unwrap_or_default())
}
