//! The table of a run: created for it and deleted at the end, or an existing table, from which nothing is deleted.

use crate::prelude::*;
use partita_client::{ErrorCode, Guid, TableClient};
use partita_tools::stress::RUN_PROPERTY;

/// A table, and whether the run created it.
pub(super) struct RunTable {
    pub(super) client: TableClient,
    is_created: bool,
    keep: bool,
}

impl RunTable {
    /// Creates the table, or uses an existing one if the user allows it.
    pub(super) async fn prepare(
        client: TableClient,
        use_existing: bool,
        keep: bool,
    ) -> Result<Self, CommandError> {
        let is_created = match client.create().await {
            Ok(()) => true,
            Err(error) if error.code() == Some(ErrorCode::TableAlreadyExists) => false,
            // The shared access signature may permit writing rows, but not creating tables. The table then counts as
            // existing.
            Err(error) if use_existing && error.status() == Some(403) => false,
            Err(error) => return Err(error.into()),
        };
        if !is_created && !use_existing {
            let name = client.name();
            return Err(CommandError::usage(format!(
                "table {name} exists already: add --use-existing to write rows to it, which stay there, or choose a new name"
            )));
        }
        Ok(Self {
            client,
            is_created,
            keep,
        })
    }

    /// Deletes the table if the run created it, unless `--keep`. Prints a message if the table or rows of the run stay.
    pub(super) async fn finish(self, run: Guid, rows: u64) {
        let name = self.client.name();
        if !self.is_created {
            let rows = many(rows, "row", "rows");
            message(&format!(
                "up to {rows} of the run stay in table {name}; to delete them: partita purge {name} --filter \"{RUN_PROPERTY} eq guid'{run}'\""
            ));
        } else if self.keep {
            message(&format!("table {name} is kept"));
        } else if let Err(error) = self.client.delete().await {
            message(&format!("cannot delete table {name}: {error}"));
        }
    }
}
