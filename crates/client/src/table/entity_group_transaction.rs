//! Entity group transactions: up to 100 writes to one partition, all or nothing.

use super::read_back::Write;
use super::table_request::table_request;
use super::write_proof::{Proof, stamped};
use super::{IfMatch, TableClient, UpdateMode, body_of};
use crate::pipeline::refused;
use crate::request::Request;
use crate::transport::{Answer, header_text};
use crate::{ConvertError, ETag, Entity, Error, ErrorKind, Outcome, Result};
use partita_model::Guid;
use partita_model::limits::BATCH_OPERATIONS_MAX;
use partita_wire::table::{BatchRequestWriter, Operation, read_batch_answer};
use partita_wire::{ErrorBody, Method};
use serde::Serialize;
use std::borrow::Cow;

/// One write of a transaction.
#[derive(Debug, Clone)]
pub enum TransactionAction {
    /// Inserts a new entity.
    Create(Entity),
    /// Changes an existing entity or inserts a new one.
    Upsert(Entity, UpdateMode),
    /// Changes an existing entity.
    Update(Entity, UpdateMode, IfMatch),
    /// Deletes an existing entity.
    Delete {
        /// The entity's PartitionKey.
        partition_key: String,
        /// The entity's RowKey.
        row_key: String,
        /// The version to delete.
        if_match: IfMatch,
    },
}

/// The result of a successful transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactionOutcome {
    /// The new ETag of each entity, in the order of the actions; `None` for deleted entities.
    pub etags: Vec<Option<ETag>>,
}

impl TransactionAction {
    /// Inserts a struct or map as a new entity, see [`Entity::from_serialize`].
    ///
    /// # Errors
    /// [`ConvertError`] if the value cannot be an entity.
    pub fn create_from(value: &impl Serialize) -> Result<Self, ConvertError> {
        Entity::from_serialize(value).map(Self::Create)
    }

    /// Changes an existing entity to a struct or map or inserts a new one.
    ///
    /// # Errors
    /// As [`Self::create_from`].
    pub fn upsert_from(value: &impl Serialize, mode: UpdateMode) -> Result<Self, ConvertError> {
        Ok(Self::Upsert(Entity::from_serialize(value)?, mode))
    }

    /// Changes an existing entity to a struct or map.
    ///
    /// # Errors
    /// As [`Self::create_from`].
    pub fn update_from(
        value: &impl Serialize,
        mode: UpdateMode,
        if_match: IfMatch,
    ) -> Result<Self, ConvertError> {
        Ok(Self::Update(Entity::from_serialize(value)?, mode, if_match))
    }

    /// The entity's PartitionKey and RowKey.
    #[must_use]
    pub fn keys(&self) -> (&str, &str) {
        self.write().keys()
    }

    /// The action with the stamp of its write, if there is one.
    fn stamped(&self, proof: Option<Proof>) -> Cow<'_, Self> {
        let Some(Proof::Stamp(_)) = proof else {
            return Cow::Borrowed(self);
        };
        let stamped = |entity| stamped(entity, proof).into_owned();
        Cow::Owned(match self {
            Self::Create(entity) => Self::Create(stamped(entity)),
            Self::Upsert(entity, mode) => Self::Upsert(stamped(entity), *mode),
            Self::Update(entity, mode, if_match) => {
                Self::Update(stamped(entity), *mode, if_match.clone())
            }
            Self::Delete { .. } => self.clone(),
        })
    }

    fn write(&self) -> Write<'_> {
        match self {
            Self::Create(entity) => Write::Set(entity),
            Self::Upsert(entity, mode) | Self::Update(entity, mode, _) => {
                Write::of_mode(entity, *mode)
            }
            Self::Delete {
                partition_key,
                row_key,
                ..
            } => Write::Deleted(partition_key, row_key),
        }
    }

    /// Method, condition and body.
    fn parts(&self) -> (Method, Option<&str>, Option<Vec<u8>>) {
        match self {
            Self::Create(entity) => (Method::Post, None, Some(body_of(entity))),
            Self::Upsert(entity, mode) => (mode.method(), None, Some(body_of(entity))),
            Self::Update(entity, mode, if_match) => (
                mode.method(),
                Some(if_match.header()),
                Some(body_of(entity)),
            ),
            Self::Delete { if_match, .. } => (Method::Delete, Some(if_match.header()), None),
        }
    }
}

impl TableClient {
    /// Executes all actions or none. There are 1 to 100 actions, on one partition, at most one for each entity.
    ///
    /// ```
    /// # mod server { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/server.rs")); }
    /// # server::on_a_server(async |connection_string| {
    /// # use partita_client::*;
    /// # let service = TableServiceClient::from_connection_string(&connection_string)?;
    /// # let table = service.create_table("letters").await?;
    /// let actions = ["a", "b", "a"].map(|letter| TransactionAction::Create(Entity::new("p", letter)));
    /// let done = table.submit_transaction(&actions[..2]).await?;
    /// assert_eq!(done.etags.len(), 2);
    ///
    /// let error = table.submit_transaction(&actions[1..]).await.unwrap_err();
    /// assert_eq!(error.code(), Some(ErrorCode::EntityAlreadyExists));
    /// assert_eq!(error.operation_index(), Some(0));
    /// assert_eq!(error.outcome(), Outcome::DidNotHappen);
    /// # Ok(()) });
    /// ```
    ///
    /// # Errors
    /// The error of the failed action, with its [`Error::operation_index`]; [`crate::ErrorKind::Input`] for no actions,
    /// more than 100 or several partitions; 400 InvalidDuplicateRow for two actions on one entity; 413
    /// RequestBodyTooLarge above 4 MiB.
    pub async fn submit_transaction(
        &self,
        actions: &[TransactionAction],
    ) -> Result<TransactionOutcome> {
        check(actions)?;
        let proof = Proof::of_write(self.unknown_outcome);
        let actions: Vec<_> = actions.iter().map(|action| action.stamped(proof)).collect();
        let request = self.transaction_request(&actions);
        let failed = match self.pipeline.send(&request).await {
            Err(failed) => failed,
            Ok(reply) => {
                let content_type = reply.header("content-type").unwrap_or_default();
                let parts = read_batch_answer(content_type, reply.body()).unwrap_or_default();
                if parts.len() == actions.len() {
                    let etags = parts.iter().map(|part| part.etag.map(ETag::from)).collect();
                    return Ok(TransactionOutcome { etags });
                }
                let message = format!("{} answers to {} operations", parts.len(), actions.len());
                let error = Error::new(ErrorKind::Unreadable, message);
                reply.failed(error, Outcome::MayHaveHappened)
            }
        };
        let writes: Vec<_> = actions.iter().map(|action| action.write()).collect();
        match self.read_all_back(&failed, &writes, proof).await {
            Some(etags) => Ok(TransactionOutcome { etags }),
            None => Err(self.about_its_entity(failed, &writes)),
        }
    }

    /// Adds the keys of the failed operation to the error of a transaction.
    fn about_its_entity(&self, failed: Error, writes: &[Write<'_>]) -> Error {
        let write = failed.operation_index().and_then(|index| writes.get(index));
        let (Some(write), Some(operation)) = (write, failed.operation()) else {
            return failed;
        };
        let (partition_key, row_key) = write.keys();
        let subject = self.subject(partition_key, row_key);
        failed.about(operation, subject.into())
    }

    fn transaction_request(&self, actions: &[Cow<'_, TransactionAction>]) -> Request {
        let parts: Vec<_> = actions.iter().map(|action| action.parts()).collect();
        let bytes = parts
            .iter()
            .flat_map(|(_, _, body)| body)
            .map(Vec::len)
            .sum();
        let [batch, change_set] =
            [(); 2].map(|()| Guid(fastrand::u128(..).to_be_bytes()).to_string());
        let mut writer = BatchRequestWriter::new(&batch, &change_set, parts.len(), bytes);
        let base = self.endpoint().to_string();
        for (action, (method, if_match, body)) in actions.iter().zip(&parts) {
            let (partition_key, row_key) = action.keys();
            let path = match &**action {
                TransactionAction::Create(_) => self.path(),
                _ => self.entity_path(partition_key, row_key),
            };
            writer.part(
                *method,
                &format!("{base}{path}"),
                *if_match,
                body.as_deref(),
            );
        }
        let path = "/$batch".to_owned();
        let mut request = table_request(Operation::EntityGroupTransaction, Method::Post, path);
        if let Some(first) = actions.first() {
            request = request.with_place(self.name(), first.keys().0);
        }
        request.subject = Some(self.name().to_owned());
        request.inspect = Some(find_failed_operation);
        request.content_type = writer.content_type().into();
        request.body = writer.finish().into();
        request
    }
}

/// Finds the failed operation in the answer to a batch. The HTTP status of the answer is 202 even if an operation
/// failed.
fn find_failed_operation(answer: &Answer) -> Result<()> {
    let content_type = header_text(answer.headers(), "content-type").unwrap_or_default();
    let parts = read_batch_answer(content_type, answer.body()).ok_or_else(|| {
        let message = "cannot read the answer to the transaction";
        Error::new(ErrorKind::Unreadable, message)
    })?;
    let Some(part) = parts.iter().find(|part| part.status >= 300) else {
        return Ok(());
    };
    let body = ErrorBody::read(part.body).map(|body| {
        // The error of a transaction with one operation has no index, so the index is 0.
        let (index, text) = body.split_index();
        let message = text.to_owned();
        (index.unwrap_or(0), ErrorBody { message, ..body })
    });
    let (index, body) = body.unzip();
    Err(refused(part.status, answer.headers(), body, index))
}

/// Refuses transactions that the service would refuse with an unclear message, and ETags with control characters, which
/// would corrupt the headers of the batch.
fn check(actions: &[TransactionAction]) -> Result<()> {
    let partition = actions.first().map(|action| action.keys().0);
    let is_elsewhere = |action: &TransactionAction| Some(action.keys().0) != partition;
    let breaks_line = |action: &TransactionAction| {
        let if_match = action.parts().1;
        if_match.is_some_and(|text| text.contains(|c: char| c.is_ascii_control()))
    };
    let fault = match actions.len() {
        0 => "a transaction needs an action".to_owned(),
        count if count > BATCH_OPERATIONS_MAX => {
            format!("{count} actions in a transaction; at most {BATCH_OPERATIONS_MAX} are possible")
        }
        _ if actions.iter().any(is_elsewhere) => {
            "the actions of a transaction must have the same PartitionKey".to_owned()
        }
        _ if actions.iter().any(breaks_line) => {
            "invalid ETag: it contains a control character".to_owned()
        }
        _ => return Ok(()),
    };
    Err(Error::input(fault))
}
