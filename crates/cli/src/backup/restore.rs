//! `partita restore --from URL --location DIR`: a data directory made from a backup.

use super::{check_exists, parse_place};
use crate::prelude::*;
use partita_server::backup::{Backup, Place, restore};
use serde::Serialize;
use std::path::PathBuf;

/// Make a data directory from a backup
#[derive(clap::Args)]
#[command(
    after_help = "Needs no server. Every file is checked as it is read. The data equals the snapshot, ETags and Timestamps included; serve it with: partita serve --location DIR"
)]
pub(crate) struct RestoreCommand {
    /// The backup: a path, or a URL
    #[arg(long, value_name = "URL", value_parser = parse_place)]
    from: Place,
    /// Data directory to make; must not exist, or be empty
    #[arg(long, value_name = "DIR")]
    location: PathBuf,
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
            let directory = std::path::absolute(&self.location).because(what())?;
            check_exists(place).because(what())?;
            let store = place.store().because(what())?;
            let backup = Backup::open(store).await.because(what())?;
            let origin = backup.origin().clone();
            let restored = restore(&backup, &directory, &|_| {})
                .await
                .because(what())?;
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
                "snapshot {} of {} restored: {}, {}; to serve it: partita serve --location {}",
                document.snapshot,
                document.created,
                many(document.rows, "row", "rows"),
                bytes(document.bytes),
                directory.display(),
            ));
            Ok(Outcome::Done)
        })
    }
}
