//! `partita entity get|query|insert|replace|merge|upsert|delete`: single entities of a table.

mod delete;
mod get;
mod properties;
mod query;
mod stdin;
mod write;

use crate::prelude::*;
use partita_client::{ETag, ErrorCode, IfMatch, TableClient};

commands! {
    pub(crate) enum EntityCommand {
        Get(OnAccount<get::GetCommand>), Query(OnAccount<query::QueryCommand>), Insert(OnAccount<write::InsertCommand>),
        Replace(OnAccount<write::ReplaceCommand>), Merge(OnAccount<write::MergeCommand>),
        Upsert(OnAccount<write::UpsertCommand>), Delete(OnAccount<delete::DeleteCommand>),
    }
}

/// Table and keys of an entity.
#[derive(clap::Args)]
struct EntityArgs {
    /// Table name
    table: String,
    /// PartitionKey; put -- before keys that begin with a hyphen
    #[arg(value_name = "PARTITION-KEY")]
    partition_key: String,
    /// RowKey
    #[arg(value_name = "ROW-KEY")]
    row_key: String,
}

/// Condition of a write.
#[derive(clap::Args)]
struct IfMatchArgs {
    /// Write or delete only if the entity has this ETag [default: any]
    #[arg(long, value_name = "ETAG")]
    if_match: Option<String>,
}

impl IfMatchArgs {
    fn if_match(&self) -> IfMatch {
        match self.if_match.as_deref() {
            None | Some("*") => IfMatch::Any,
            Some(etag) => IfMatch::ETag(ETag::from(etag)),
        }
    }
}

/// Whether the error means that the entity does not exist. A missing table is another error.
fn is_missing(error: &partita_client::Error) -> bool {
    error.is_not_found() && error.code() != Some(ErrorCode::TableNotFound)
}

/// Ends a command whose request failed. A missing entity is not an error: the command prints a message, then `summary`
/// as its last line, and has exit code 1.
fn failed(
    error: partita_client::Error,
    table: &TableClient,
    (partition_key, row_key): (&str, &str),
    progress: Progress,
    summary: &str,
) -> CommandResult {
    if !is_missing(&error) {
        return Err(of_table(error, table));
    }
    not_found((partition_key, row_key), progress, summary)
}

/// The error of a request. That of a missing table names the table.
fn of_table(error: partita_client::Error, table: &TableClient) -> CommandError {
    let name = table.name();
    let remedy = format!("; `partita table create {name}` creates it");
    CommandError::from(error).of_table(name, &remedy)
}

/// Ends a command whose entity does not exist.
fn not_found(
    (partition_key, row_key): (&str, &str),
    progress: Progress,
    summary: &str,
) -> CommandResult {
    message(&format!(
        "there is no entity with PartitionKey {partition_key:?} and RowKey {row_key:?}"
    ));
    progress.finish(summary, Outcome::NothingFound)
}
