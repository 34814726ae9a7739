//! `partita snapshot delete NAME`

use super::SnapshotArgs;
use crate::args::ConfirmArgs;
use crate::error::{CommandError, Outcome};
use crate::output::{self, Format};
use crate::progress::confirm;
use partita_tools::admin::Page;
use partita_wire::admin::{ActionDone, SnapshotActionParams};

#[derive(clap::Args)]
#[command(about = "Delete a snapshot")]
pub(crate) struct DeleteCommand {
    #[command(flatten)]
    confirm: ConfirmArgs,
    #[command(flatten)]
    snapshot: SnapshotArgs,
}

impl DeleteCommand {
    pub(super) async fn run(self) -> Result<Outcome, CommandError> {
        let SnapshotArgs {
            name,
            admin,
            output,
        } = self.snapshot;
        confirm(&format!("delete snapshot {name}"), self.confirm.yes)?;
        let (port, progress) = admin.open()?;
        let params = SnapshotActionParams::default();
        let deleted: Page<ActionDone> = port.snapshot_action(&name, "delete", &params).await?;
        if output.format() == Format::Json {
            output::print(&deleted.text)?;
        }
        progress.finish(&format!("snapshot {name} deleted"));
        Ok(Outcome::Done)
    }
}
