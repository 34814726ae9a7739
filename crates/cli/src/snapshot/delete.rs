//! `partita snapshot delete NAME`: deletes a snapshot, even one that cannot be read.

use super::SnapshotArgs;
use crate::prelude::*;
use partita_tools::admin::{AdminPort, Page};
use partita_wire::admin::{ActionDone, SnapshotActionParams};

/// Delete a snapshot
#[derive(clap::Args)]
pub(crate) struct DeleteCommand {
    #[command(flatten)]
    confirm: ConfirmArgs,
    #[command(flatten)]
    snapshot: SnapshotArgs,
}

impl AdminPortCommand for DeleteCommand {
    async fn run(self, port: AdminPort, mut progress: Progress) -> CommandResult {
        let SnapshotArgs { name, output } = self.snapshot;
        let question = format!("delete snapshot {name}");
        self.confirm.confirm(&question, &mut progress)?;
        let params = SnapshotActionParams::default();
        let deleted: Page<ActionDone> = port.snapshot_action(&name, "delete", &params).await?;
        output.write_document(&deleted.text, Shape::Rows, |_| Ok(()))?;
        progress.finish(&format!("snapshot {name} deleted"), Outcome::Done)
    }
}
