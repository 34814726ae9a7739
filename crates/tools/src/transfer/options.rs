//! Options for writing rows to a table.

use partita_bulk::Mode;
use partita_client::{ErrorCode, TableClient};
use std::path::PathBuf;

/// Options for writing rows to a table.
#[derive(Debug, Clone)]
pub struct WriteOptions {
    /// What to do with rows that already exist.
    pub mode: Mode,
    /// Number of parallel writes, at least 1.
    pub jobs: usize,
    /// Whether to create the table if it does not exist.
    pub create_table: bool,
    /// Number of rows between two saves of the progress file. Each save syncs a file. A resumed transfer writes the
    /// rows after the last save again.
    pub rows_between_marks: u64,
    /// Whether to only count the rows that would be written. The rows of the table are looked up.
    pub dry_run: bool,
    /// The path of the progress file, which is removed at the end. `None` if the transfer need not be resumable.
    pub state: Option<PathBuf>,
    /// Whether to resume from the progress file. If the file does not exist, a new transfer starts.
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

/// Creates a table, if it does not exist.
pub(crate) async fn create_if_missing(table: &TableClient) -> partita_client::Result<()> {
    match table.create().await {
        Err(error) if error.code() != Some(ErrorCode::TableAlreadyExists) => Err(error),
        _ => Ok(()),
    }
}
