//! `partita snapshot create NAME`

use super::SnapshotArgs;
use crate::error::{CommandError, Outcome};
use crate::output::{self, Field, Format, Output, Shape, tenths};
use crate::units::many;
use partita_tools::admin::Page;
use partita_wire::admin::{SnapshotActionParams, SnapshotCreated};

#[derive(clap::Args)]
#[command(about = "Create a snapshot: every table at one instant, nothing is copied")]
pub(crate) struct CreateCommand {
    #[command(flatten)]
    snapshot: SnapshotArgs,
}

impl CreateCommand {
    pub(super) async fn run(self) -> Result<Outcome, CommandError> {
        let SnapshotArgs {
            name,
            admin,
            output,
        } = self.snapshot;
        let (port, progress) = admin.open()?;
        let params = SnapshotActionParams::default();
        let created: Page<SnapshotCreated> = port.snapshot_action(&name, "create", &params).await?;
        let SnapshotCreated {
            created: time,
            ranges,
            bytes,
            pause_ms,
            ..
        } = &created.document;
        if output.format() == Format::Json {
            output::print(&created.text)?;
        } else {
            let mut rows = Output::stdout(output, Shape::Single, None);
            rows.measured(&[
                ("Name", Field::text(&name)),
                ("Created", Field::text(time)),
                ("Ranges", Field::count(ranges.len() as u64)),
                ("Bytes", Field::Bytes(*bytes)),
                ("PauseMs", Field::Plain(tenths(*pause_ms))),
            ])?;
            rows.finish()?;
        }
        let ranges = many(ranges.len() as u64, "range", "ranges");
        progress.finish(&format!("snapshot {name} of {ranges} created"));
        Ok(Outcome::Done)
    }
}
