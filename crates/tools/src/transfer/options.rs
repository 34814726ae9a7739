//! How rows are written to a table.

use super::TransferError;
use partita_client::{ErrorCode, TableClient};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What happens to a row that is there already, and to properties that it does not name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// It is an error.
    #[default]
    Insert,
    /// It gets the properties; its others stay.
    Merge,
    /// It gets the properties; its others go.
    Replace,
    /// It stays as it is.
    SkipExisting,
}

/// How rows are written.
#[derive(Debug, Clone)]
pub struct WriteOptions {
    /// What happens to rows that are there already.
    pub mode: Mode,
    /// Writes at the same time, at least 1.
    pub jobs: usize,
    /// Whether the table is made if it is not there.
    pub create_table: bool,
    /// Where to keep how far it is; none to start from the beginning if it is stopped. The file goes when all is done.
    pub state: Option<PathBuf>,
    /// Whether to go on from the state. Without a state file it begins.
    pub resume: bool,
    /// Rows after which the state is written anew: each time costs a file that is synced, and what was written behind the state
    /// is written again when it is resumed.
    pub rows_between_marks: u64,
    /// Whether only to count.
    pub dry_run: bool,
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
    /// Makes the table, if that is wanted.
    pub(super) async fn prepare(&self, table: &TableClient) -> Result<(), TransferError> {
        if self.dry_run || !self.create_table {
            return Ok(());
        }
        match table.create().await {
            Err(error) if error.code() != Some(ErrorCode::TableAlreadyExists) => {
                Err(TransferError::Create(Box::new(error)))
            }
            _ => Ok(()),
        }
    }
}
