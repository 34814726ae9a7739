//! The table of a run: made and dropped again, or somebody's own, of which nothing is deleted.

use crate::error::Failure;
use crate::progress::{many, say};
use partita_client::{ErrorCode, Guid, TableClient};
use partita_tools::stress::RUN_PROPERTY;

/// A table, and whether it is the run's own.
pub(crate) struct RunTable {
    pub(crate) client: TableClient,
    is_own: bool,
    keep: bool,
}

impl RunTable {
    /// Makes it; or takes the one that is there, if that is wanted.
    pub(crate) async fn prepare(
        client: TableClient,
        use_existing: bool,
        keep: bool,
    ) -> Result<Self, Failure> {
        let is_own = match client.create().await {
            Ok(()) => true,
            // Whoever made it: it may be somebody's, so it is not the run's.
            Err(error) if error.code() == Some(ErrorCode::TableAlreadyExists) => false,
            // A signature may allow to write rows and not to make tables.
            Err(error) if use_existing && error.status() == Some(403) => false,
            Err(error) => return Err(error.into()),
        };
        if !is_own && !use_existing {
            let name = client.name();
            return Err(Failure::usage(format!(
                "table {name} is there already: --use-existing adds the run's rows to it, where they stay; another name makes a table of the run's own"
            )));
        }
        Ok(Self {
            client,
            is_own,
            keep,
        })
    }

    /// Drops it, if it is the run's own and not to be kept, and says what stays.
    pub(crate) async fn finish(self, run: Guid, rows: u64) {
        let name = self.client.name();
        if !self.is_own {
            let rows = many(rows, "row", "rows");
            say(&format!(
                "up to {rows} of the run stay in table {name}: partita purge {name} \"{RUN_PROPERTY} eq guid'{run}'\" takes them away"
            ));
        } else if self.keep {
            say(&format!("table {name} is kept"));
        } else if let Err(error) = self.client.delete().await {
            say(&format!("table {name} could not be dropped: {error}"));
        }
    }
}
