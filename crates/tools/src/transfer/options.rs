//! Options for writing rows to a table.

use super::TransferError;
use partita_client::{ErrorCode, TableClient};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// How to write rows that exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Refuse them.
    #[default]
    Insert,
    /// Update the given properties and keep the others.
    Merge,
    /// Replace all properties.
    Replace,
    /// Skip them.
    SkipExisting,
}

/// How rows are written.
#[derive(Debug, Clone)]
pub struct WriteOptions {
    /// How to write rows that exist.
    pub mode: Mode,
    /// Number of parallel writes, at least 1.
    pub jobs: usize,
    /// Whether to create the table if it does not exist.
    pub create_table: bool,
    /// Rows between two saves of the progress file. Each save syncs a file; a resumed transfer writes rows behind the
    /// last save again.
    pub rows_between_marks: u64,
    /// Whether to only count rows, without writing them.
    pub dry_run: bool,
    /// The progress file, removed at the end; none if a stopped transfer shall start from the begin.
    pub state: Option<PathBuf>,
    /// Whether to resume from the progress file. Without one, the transfer begins.
    pub resume: bool,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            mode: Mode::default(),
            jobs: 8,
            create_table: true,
            state: None,
            resume: false,
            rows_between_marks: 20_000,
            dry_run: false,
        }
    }
}

impl WriteOptions {
    /// Creates the table if `create_table` is set.
    pub(super) async fn prepare(&self, table: &TableClient) -> Result<(), TransferError> {
        if self.dry_run || !self.create_table {
            return Ok(());
        }
        let created = create_if_missing(table).await;
        created.map_err(|error| TransferError::Create(Box::new(error)))
    }
}

/// Creates a table, if it does not exist.
pub(crate) async fn create_if_missing(table: &TableClient) -> partita_client::Result<()> {
    match table.create().await {
        Err(error) if error.code() != Some(ErrorCode::TableAlreadyExists) => Err(error),
        _ => Ok(()),
    }
}
