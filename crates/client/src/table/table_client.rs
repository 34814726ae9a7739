//! The client of one table.

use super::table_request::table_request;
use crate::pipeline::{Pipeline, Reply};
use crate::request::Request;
use crate::{Credential, ETag, Endpoint, Entity, Error, ErrorKind, Result, TableServiceClient};
use partita_wire::Method;
use partita_wire::table::{Operation, TableSasTerms, push_entity_path, write_entity};
use std::sync::Arc;

/// A table. Cheap to clone; clones share connections and retry budget with the [`TableServiceClient`] it came from.
///
/// # Writes that are tried again
/// Every write is tried again when its policy says so, also when an attempt before may have happened. Its last answer may then
/// speak of its own first success, and is told apart by reading back:
///
/// | write | answer after an attempt that may have happened | then |
/// | --- | --- | --- |
/// | insert | 409 | success if the entity is there with exactly these properties |
/// | update with an ETag | 412 | success if the entity has these properties (a merge: among others) |
/// | transaction | 409, 412, 404 | success if all of its writes can be read, and all it deleted is gone |
/// | delete | 404 | the error, with [`crate::Outcome::MayHaveHappened`]: nobody can say who deleted it |
///
/// An entity that somebody else wrote with the same properties at that very time is taken for one's own: put something of the
/// writer's into rows that are claims.
#[derive(Debug, Clone)]
pub struct TableClient {
    pub(crate) service: TableServiceClient,
    name: Arc<str>,
}

/// What an update or upsert does with properties that it does not name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UpdateMode {
    /// They stay.
    Merge,
    /// They go.
    Replace,
}

/// Which version of an entity a write is meant for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IfMatch {
    /// Any, but it has to be there.
    Any,
    /// This one.
    ETag(ETag),
}

impl IfMatch {
    /// The value of the header.
    pub(crate) fn header(&self) -> &str {
        match self {
            Self::Any => "*",
            Self::ETag(etag) => etag.as_str(),
        }
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
    pub(crate) fn new(service: TableServiceClient, name: &str) -> Self {
        Self {
            service,
            name: name.into(),
        }
    }

    /// The table's name, as the client was given it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where its account is.
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        self.service.endpoint()
    }

    /// A shared access signature of the table: a query string for [`Credential::Sas`]. The terms' table is this one.
    ///
    /// # Errors
    /// [`ErrorKind::Credential`] without a shared key.
    pub fn generate_sas(&self, terms: &TableSasTerms) -> Result<String> {
        let terms = TableSasTerms {
            table: self.name.to_string(),
            ..terms.clone()
        };
        match &self.pipeline().credential {
            Credential::SharedKey { account, key } => Ok(terms.sign(account, key)),
            _ => Err(Error::new(
                ErrorKind::Credential,
                "a shared access signature needs a shared key",
            )),
        }
    }

    pub(crate) fn pipeline(&self) -> &Pipeline {
        &self.service.pipeline
    }

    /// `/name`
    pub(super) fn path(&self) -> String {
        let mut path = String::with_capacity(self.name.len() + 1);
        path.push('/');
        path.push_str(&encoded(&self.name));
        path
    }

    /// `/name(PartitionKey='…',RowKey='…')`
    pub(super) fn entity_path(&self, partition_key: &str, row_key: &str) -> String {
        let mut path = vec![b'/'];
        push_entity_path(&encoded(&self.name), partition_key, row_key, &mut path);
        String::from_utf8(path).expect("made of ASCII")
    }

    pub(super) fn entity_request(
        &self,
        operation: Operation,
        method: Method,
        keys: (&str, &str),
        if_match: Option<&IfMatch>,
    ) -> Request {
        let mut request = table_request(operation, method, self.entity_path(keys.0, keys.1));
        request.if_match = if_match.map(|if_match| if_match.header().to_owned());
        request
    }
}

/// A table's name as a part of a path. A real one needs no encoding; others must not become something else.
pub(crate) fn encoded(name: &str) -> String {
    let mut query = String::new();
    partita_wire::push_query_parameter("", name, &mut query);
    query.split_off(1)
}

/// An entity as the body of a write.
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

/// The version that a write's answer names; empty where the server names none.
pub(super) fn etag_of(reply: &Reply) -> ETag {
    ETag::from(reply.header("etag").unwrap_or_default())
}
