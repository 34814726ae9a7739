//! `partita entity get|query|insert|replace|merge|upsert|delete`: single entities of a table.

mod delete;
mod get;
mod properties;
mod query;
mod stdin;
mod write;

use crate::error::{CommandError, Outcome};
use crate::progress::message;
use clap::Subcommand;
use partita_client::{ETag, ErrorCode, IfMatch};

#[derive(Subcommand)]
pub(crate) enum EntityCommand {
    Get(get::GetCommand),
    Query(query::QueryCommand),
    Insert(write::InsertCommand),
    Replace(write::ReplaceCommand),
    Merge(write::MergeCommand),
    Upsert(write::UpsertCommand),
    Delete(delete::DeleteCommand),
}

impl EntityCommand {
    pub(crate) async fn run(self) -> Result<Outcome, CommandError> {
        match self {
            Self::Get(command) => command.run().await,
            Self::Query(command) => command.run().await,
            Self::Insert(command) => command.run().await,
            Self::Replace(command) => command.run().await,
            Self::Merge(command) => command.run().await,
            Self::Upsert(command) => command.run().await,
            Self::Delete(command) => command.run().await,
        }
    }
}

/// Table and keys of an entity.
#[derive(clap::Args)]
struct EntityArgs {
    /// Table name
    #[arg(value_name = "TABLE")]
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
    /// Only if the entity has this ETag [default: any]
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

/// Whether the server says that there is no such entity, in a table that exists.
fn is_missing(error: &partita_client::Error) -> bool {
    error.is_not_found() && error.code() != Some(ErrorCode::TableNotFound)
}

fn report_missing(partition_key: &str, row_key: &str) {
    message(&format!(
        "there is no entity with PartitionKey {partition_key:?} and RowKey {row_key:?}"
    ));
}
