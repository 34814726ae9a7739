//! `partita snapshot create NAME`: creates a snapshot of the whole store.

use super::SnapshotArgs;
use crate::prelude::*;
use partita_tools::admin::{AdminPort, Page};
use partita_wire::admin::{SnapshotActionParams, SnapshotCreated};

/// Create a snapshot of every table at one instant, without copying data
#[derive(clap::Args)]
pub(crate) struct CreateCommand {
    #[command(flatten)]
    snapshot: SnapshotArgs,
}

impl AdminPortCommand for CreateCommand {
    async fn run(self, port: AdminPort, progress: Progress) -> CommandResult {
        let SnapshotArgs { name, output } = self.snapshot;
        let params = SnapshotActionParams::default();
        let Page::<SnapshotCreated> { document, text } =
            port.snapshot_action(&name, "create", &params).await?;
        let ranges = document.summary.ranges.len() as u64;
        output.write_document(&text, Shape::Single, |output| {
            output.record(&[
                ("name", Field::text(&name)),
                ("created", Field::text(&document.summary.created)),
                ("ranges", Field::count(ranges)),
                ("bytes", Field::Bytes(document.summary.bytes)),
                ("pause_ms", Field::tenths(document.pause_ms)),
            ])
        })?;
        let ranges = many(ranges, "range", "ranges");
        let end = format!("snapshot {name} of {ranges} created");
        progress.finish(&end, Outcome::Done)
    }
}
