//! `partita snapshot list`: the snapshots that the server keeps, and those that it cannot read.

use crate::prelude::*;
use partita_tools::admin::AdminPort;

/// List the snapshots, oldest first
#[derive(clap::Args)]
pub(crate) struct ListCommand {
    #[command(flatten)]
    output: OutputArgs,
}

impl AdminPortCommand for ListCommand {
    async fn run(self, port: AdminPort, progress: Progress) -> CommandResult {
        let page = port.snapshots().await?;
        let list = &page.document;
        self.output
            .write_document(&page.text, Shape::Rows, |output| {
                list.snapshots.iter().try_for_each(|snapshot| {
                    let summary = &snapshot.summary;
                    output.record(&[
                        ("name", Field::text(&summary.name)),
                        ("created", Field::text(&summary.created)),
                        ("ranges", Field::count(summary.ranges.len() as u64)),
                        ("bytes", Field::Bytes(summary.bytes)),
                        ("own_bytes", Field::Bytes(snapshot.own_bytes)),
                    ])
                })
            })?;
        for snapshot in &list.unreadable {
            message(&format!(
                "the snapshot in {} cannot be read: {}; it can be deleted by its name",
                snapshot.object, snapshot.why,
            ));
        }
        if let Some(silent) = &list.silent {
            let servers = silent.join(", ");
            message(&format!(
                "no answer from {servers}: the bytes that only a snapshot needs may be fewer"
            ));
        }
        let found = list.snapshots.len() as u64;
        progress.finish_count(found, "snapshot", "snapshots")
    }
}
