//! Entity group transactions: up to 100 writes to one partition, all or none.

use super::read_back::Write;
use super::table_request::table_request;
use super::{IfMatch, TableClient, UpdateMode, body_of};
use crate::pipeline::{AttemptError, header_text, refused};
use crate::request::Request;
use crate::transport::Answer;
use crate::{ETag, Entity, Error, ErrorKind, Outcome, Result};
use partita_model::Guid;
use partita_model::limits::BATCH_OPERATIONS_MAX;
use partita_wire::table::{BatchRequestWriter, Operation, read_batch_answer};
use partita_wire::{ErrorBody, Method};

/// One write of a transaction.
#[derive(Debug, Clone)]
pub enum TransactionAction {
    /// Inserts an entity that is not there yet.
    Create(Entity),
    /// Changes an entity, or inserts it.
    Upsert(Entity, UpdateMode),
    /// Changes an entity that is there.
    Update(Entity, UpdateMode, IfMatch),
    /// Deletes an entity that is there: by its keys and version.
    Delete {
        /// Its PartitionKey.
        partition_key: String,
        /// Its RowKey.
        row_key: String,
        /// Which version.
        if_match: IfMatch,
    },
}

/// A transaction that has happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactionOutcome {
    /// The new version of each action's entity, in their order; none for a deleted one.
    pub etags: Vec<Option<ETag>>,
}

impl TransactionAction {
    /// The entity's keys.
    #[must_use]
    pub fn keys(&self) -> (&str, &str) {
        match self {
            Self::Create(entity) | Self::Upsert(entity, _) | Self::Update(entity, ..) => {
                (entity.partition_key(), entity.row_key())
            }
            Self::Delete {
                partition_key,
                row_key,
                ..
            } => (partition_key, row_key),
        }
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
    /// Does all of the actions, 1 to 100 on one partition and each entity once, or none of them.
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
    /// That of the action at fault, with its index; [`crate::ErrorKind::Input`] for no actions, for more than 100, for more than
    /// one partition; 413 RequestBodyTooLarge past 4 MiB.
    pub async fn submit_transaction(
        &self,
        actions: &[TransactionAction],
    ) -> Result<TransactionOutcome> {
        check(actions)?;
        let request = self.transaction_request(actions);
        let failed = match self.pipeline().send(&request).await {
            Err(failed) => failed,
            Ok(reply) => {
                let content_type = reply.header("content-type").unwrap_or_default();
                let parts = read_batch_answer(content_type, &reply.answer.body).unwrap_or_default();
                if parts.len() == actions.len() {
                    let etags = parts.iter().map(|part| part.etag.map(ETag::from)).collect();
                    return Ok(TransactionOutcome { etags });
                }
                let message = format!("{} answers to {} operations", parts.len(), actions.len());
                let error = Error::new(ErrorKind::Unreadable, message);
                reply.failed(error, Outcome::MayHaveHappened)
            }
        };
        let writes: Vec<_> = actions.iter().map(TransactionAction::write).collect();
        match self.found_back(&failed, &writes).await {
            Some(etags) => Ok(TransactionOutcome { etags }),
            None => Err(failed.error),
        }
    }

    fn transaction_request(&self, actions: &[TransactionAction]) -> Request {
        let parts: Vec<_> = actions.iter().map(TransactionAction::parts).collect();
        let bytes = parts
            .iter()
            .flat_map(|(_, _, body)| body)
            .map(Vec::len)
            .sum();
        let [batch, change_set] =
            [(); 2].map(|()| Guid(fastrand::u128(..).to_be_bytes()).to_string());
        let mut writer = BatchRequestWriter::new(&batch, &change_set, parts.len(), bytes);
        let base = self.pipeline().endpoint.to_string();
        for (action, (method, if_match, body)) in actions.iter().zip(&parts) {
            let (partition_key, row_key) = action.keys();
            let path = match action {
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
        request.inspect = Some(find_failed_operation);
        request.content_type = writer.content_type().into();
        request.body = writer.finish().into();
        request
    }
}

/// The failure of a batch, which is answered with 202 even where one of its operations failed.
fn find_failed_operation(answer: &Answer) -> std::result::Result<(), AttemptError> {
    let content_type = header_text(&answer.headers, "content-type").unwrap_or_default();
    let Some(parts) = read_batch_answer(content_type, &answer.body) else {
        let error = Error::new(
            ErrorKind::Unreadable,
            "the answer to the batch cannot be read",
        );
        return Err(AttemptError {
            error: error.with_outcome(Outcome::MayHaveHappened),
            reason: None,
        });
    };
    let Some(part) = parts.iter().find(|part| part.status >= 300) else {
        return Ok(());
    };
    let body = ErrorBody::read(part.body).map(|body| {
        let (index, text) = body.split_index();
        // The error of the only operation has no index.
        let (index, message) = (index.unwrap_or(0), text.to_owned());
        let code = body.code;
        (index, ErrorBody { code, message })
    });
    let (index, body) = body.unzip();
    Err(refused(part.status, &answer.headers, body, index))
}

/// Refuses what the service would refuse as a whole, or with an unclear message.
fn check(actions: &[TransactionAction]) -> Result<()> {
    let Some(first) = actions.first() else {
        return Err(Error::input("a transaction without actions"));
    };
    if actions.len() > BATCH_OPERATIONS_MAX {
        return Err(Error::input(format!(
            "a transaction of more than {BATCH_OPERATIONS_MAX} actions"
        )));
    }
    if actions
        .iter()
        .any(|action| action.keys().0 != first.keys().0)
    {
        return Err(Error::input("a transaction over more than one partition"));
    }
    let breaks_line = |action: &TransactionAction| {
        let (_, if_match, _) = action.parts();
        if_match.is_some_and(|text| text.contains(|c: char| c.is_ascii_control()))
    };
    if actions.iter().any(breaks_line) {
        return Err(Error::input("an ETag with a control character"));
    }
    Ok(())
}
