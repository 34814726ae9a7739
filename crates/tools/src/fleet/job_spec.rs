//! What a fleet does: the specification of a job.

use super::FleetError;
use crate::formats::Format;
use crate::scan::{Emit, Query, QueryOptions, Tokens};
use crate::transfer::{Mode, Source};
use serde::{Deserialize, Serialize};

/// The specification of a job. It has no credentials: each worker has its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JobSpec {
    /// What is done with the rows.
    pub kind: JobKind,
    /// The rows; of an import, the table to which they are written.
    pub source: Source,
    /// Rows per page, 1 to 1,000.
    pub page_rows: usize,
    /// A step ends after this many rows, at least 1.
    pub step_rows: u64,
    /// Attempts of a step before it is dead, at least 1.
    pub tries: u32,
    /// How long the message of a running step is hidden, in seconds. A step whose worker died begins again after this
    /// time.
    pub visibility_seconds: u64,
    /// The expected number of rows, if it is known.
    pub rows_expected: Option<u64>,
}

/// What a job does with the rows of its table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum JobKind {
    /// Counts the rows.
    Count,
    /// Writes the rows to another table, which must exist.
    Copy {
        /// The other table.
        to: TablePlace,
        /// What to do with rows that exist. [`Mode::Insert`] is not possible: a repeated step meets its own rows.
        mode: Mode,
    },
    /// Writes the rows to part files with one manifest.
    Export {
        /// The directory, which all workers must have.
        directory: String,
        /// The format of the parts.
        format: Format,
    },
    /// Writes the rows of files to the table, which must exist.
    Import {
        /// The directory with all files, which all workers must have.
        directory: String,
        /// What to do with rows that exist, as for a copy.
        mode: Mode,
    },
    /// Finds the distinct PartitionKeys.
    Partitions {
        /// The table to which they are written, as rows without properties and with an empty RowKey.
        to: Option<TablePlace>,
    },
    /// Deletes the rows.
    Purge,
    /// Sends messages to a queue of the account.
    Enqueue {
        /// The name of the queue, which must exist.
        queue: String,
        /// What gets a message.
        per: Per,
        /// The text of a message, a [`partita_bulk::Template`].
        body: String,
    },
    /// Runs a shell command for each step, with its rows as JSON lines on stdin.
    Exec {
        /// The command.
        command: String,
    },
}

/// What gets a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Per {
    /// Each row.
    Row,
    /// Each distinct PartitionKey. The message is made of the first row of the partition.
    Partition,
}

/// A table of an account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TablePlace {
    /// The endpoint of the account.
    pub endpoint: String,
    /// The name of the table.
    pub table: String,
}

impl JobKind {
    /// The first word of the ids of such jobs.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Copy { .. } => "copy",
            Self::Export { .. } => "export",
            Self::Import { .. } => "import",
            Self::Partitions { .. } => "partitions",
            Self::Purge => "purge",
            Self::Enqueue { .. } => "enqueue",
            Self::Exec { .. } => "exec",
        }
    }

    /// Which rows of each partition are read.
    pub(super) fn emit(&self) -> Emit {
        match self {
            Self::Partitions { .. }
            | Self::Enqueue {
                per: Per::Partition,
                ..
            } => Emit::FirstOfPartition,
            Self::Count
            | Self::Copy { .. }
            | Self::Export { .. }
            | Self::Import { .. }
            | Self::Purge
            | Self::Enqueue { per: Per::Row, .. }
            | Self::Exec { .. } => Emit::EveryRow,
        }
    }

    /// Whether the job needs only the keys of the rows.
    pub(super) fn is_keys_only(&self) -> bool {
        match self {
            Self::Count | Self::Partitions { .. } | Self::Purge => true,
            Self::Copy { .. }
            | Self::Export { .. }
            | Self::Import { .. }
            | Self::Enqueue { .. }
            | Self::Exec { .. } => false,
        }
    }
}

impl JobSpec {
    /// The query of the steps.
    ///
    /// # Errors
    /// [`FleetError::Query`].
    pub fn query(&self) -> Result<Query, FleetError> {
        let mut select = self.source.select.clone();
        if self.kind.is_keys_only() {
            select = vec!["PartitionKey".to_owned(), "RowKey".to_owned()];
        }
        Ok(Query::new(QueryOptions {
            filter: self.source.filter.clone(),
            select,
            page_rows: self.page_rows,
            emit: self.kind.emit(),
            tokens: Tokens::NextRow,
        })?)
    }
}

#[cfg(test)]
mod tests {
    use super::super::job::tests::count;

    #[test]
    fn count_reads_only_keys() {
        let query = count().query().unwrap();
        assert_eq!(query.options().select, ["PartitionKey", "RowKey"]);
    }
}
