//! `partita snapshot list`

use crate::args::AdminPortArgs;
use crate::error::{CommandError, Outcome};
use crate::output::{self, Field, Format, Output, OutputArgs, Shape};
use crate::progress::message;
use crate::units::many;

#[derive(clap::Args)]
#[command(about = "List the snapshots, oldest first")]
pub(crate) struct ListCommand {
    #[command(flatten)]
    admin: AdminPortArgs,
    #[command(flatten)]
    output: OutputArgs,
}

impl ListCommand {
    pub(super) async fn run(self) -> Result<Outcome, CommandError> {
        let (port, progress) = self.admin.open()?;
        let page = port.snapshots().await?;
        let list = &page.document;
        if self.output.format() == Format::Json {
            output::print(&page.text)?;
        } else {
            let mut output = Output::stdout(self.output, Shape::Rows, None);
            for snapshot in &list.snapshots {
                output.measured(&[
                    ("Name", Field::text(&snapshot.name)),
                    ("Created", Field::text(&snapshot.created)),
                    ("Ranges", Field::count(snapshot.ranges.len() as u64)),
                    ("Bytes", Field::Bytes(snapshot.bytes)),
                    ("OwnBytes", Field::Bytes(snapshot.own_bytes)),
                ])?;
            }
            output.finish()?;
        }
        for snapshot in &list.unreadable {
            message(&format!(
                "the snapshot in {} cannot be read: {}; it can be deleted by its name",
                snapshot.object, snapshot.why,
            ));
        }
        let found = list.snapshots.len() as u64;
        progress.finish(&many(found, "snapshot", "snapshots"));
        Ok(Outcome::of_count(found))
    }
}
