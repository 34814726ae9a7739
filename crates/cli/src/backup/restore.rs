//! `partita restore --from URL --location DIR`: a data directory made from a backup; with `--store URL`, the store of a
//! new cluster.

use super::{check_exists, parse_place, parse_store};
use crate::prelude::*;
use partita_server::backup::{
    Backup, ObjectStorePlace, Place, Progress, restore, restore_to_store,
};
use serde::Serialize;
use std::path::PathBuf;
use std::time::Duration;

/// Make a data directory from a backup, or fill an empty object store
#[derive(clap::Args)]
#[command(
    group = clap::ArgGroup::new("target").required(true).args(["location", "store"]),
    after_help = "Needs no server. Every file is checked as it is read. The data equals the snapshot, ETags and Timestamps included; serve it with: partita serve --location DIR, or --store URL. The servers of a new cluster start on the store like a single server."
)]
pub(crate) struct RestoreCommand {
    /// The backup: a path, or a URL
    #[arg(long, value_name = "URL", value_parser = parse_place)]
    from: Place,
    /// Data directory to make; must not exist, or be empty
    #[arg(long, value_name = "DIR")]
    location: Option<PathBuf>,
    /// Object store to fill; must be empty: s3://BUCKET/PREFIX, az://CONTAINER/PREFIX or file:///DIR
    #[arg(long, value_name = "URL", value_parser = parse_store)]
    store: Option<Place>,
    /// Separate object store for the log; later starts must name it again
    #[arg(long, value_name = "URL", value_parser = parse_store, requires = "store")]
    log_store: Option<Place>,
    #[command(flatten)]
    output: OutputArgs,
}

/// The document of `--output json`.
#[derive(Serialize)]
struct RestoredDocument {
    snapshot: String,
    created: String,
    rows: u64,
    bytes: u64,
}

impl Command for RestoreCommand {
    fn run(self) -> CommandResult {
        block_on(async move {
            let place = &self.from;
            let what = || format!("cannot restore the backup in {place}");
            check_exists(place).because(what())?;
            let store = place.store().because(what())?;
            let backup = Backup::open(store).await.because(what())?;
            let origin = backup.origin().clone();
            let (restored, flags) = self.copy(&backup).await?;
            let document = RestoredDocument {
                snapshot: origin.name.to_string(),
                created: origin.created.to_string(),
                rows: restored.rows,
                bytes: restored.bytes,
            };
            let json = to_json(&document)?;
            self.output.write_document(&json, Shape::Single, |output| {
                output.record(&[
                    ("snapshot", Field::text(&document.snapshot)),
                    ("created", Field::text(&document.created)),
                    ("rows", Field::count(document.rows)),
                    ("bytes", Field::Bytes(document.bytes)),
                ])
            })?;
            message(&format!(
                "snapshot {} of {} restored: {}, {}; to serve it: partita serve {flags}",
                document.snapshot,
                document.created,
                many(document.rows, "row", "rows"),
                bytes(document.bytes),
            ));
            Ok(Outcome::Done)
        })
    }
}

impl RestoreCommand {
    /// Copies the rows. Also returns the flags of a server of the copy.
    async fn copy(&self, backup: &Backup) -> Result<(Progress, String), CommandError> {
        let what = || format!("cannot restore the backup in {}", self.from);
        let Some(files) = &self.store else {
            // Without a store clap requires the directory.
            let location = self.location.clone().unwrap_or_default();
            let directory = std::path::absolute(location).because(what())?;
            let restored = restore(backup, &directory, &|_| {}).await;
            let flags = format!("--location {}", directory.display());
            return Ok((restored.because(what())?, flags));
        };
        let place = ObjectStorePlace {
            files: files.clone(),
            log: self.log_store.clone(),
            log_gap: Duration::ZERO,
            disk_cache: None,
        };
        let restored = restore_to_store(backup, &place, &|_| {}).await;
        let mut flags = format!("--store {}", files.url());
        if let Some(log) = &self.log_store {
            flags = format!("{flags} --log-store {}", log.url());
        }
        Ok((restored.because(what())?, flags))
    }
}
