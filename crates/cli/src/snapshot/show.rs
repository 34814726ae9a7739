//! `partita snapshot show NAME`

use super::SnapshotArgs;
use crate::error::{CommandError, Outcome};
use crate::output::{self, Field, Format, Output, Shape};
use crate::units::many;

#[derive(clap::Args)]
#[command(about = "Show a snapshot and its tables")]
pub(crate) struct ShowCommand {
    #[command(flatten)]
    snapshot: SnapshotArgs,
}

impl ShowCommand {
    pub(super) async fn run(self) -> Result<Outcome, CommandError> {
        let SnapshotArgs {
            name,
            admin,
            output,
        } = self.snapshot;
        let (port, progress) = admin.open()?;
        let page = port.snapshot(&name).await?;
        let (snapshot, tables) = (&page.document.snapshot, &page.document.tables);
        let count = tables.len() as u64;
        if output.format() == Format::Json {
            output::print(&page.text)?;
        } else {
            let named = tables.iter().zip(1..).map(|(table, number)| {
                let name = format!("{}/{}", table.account, table.table);
                (format!("Table{number}"), name)
            });
            let named: Vec<(String, String)> = named.collect();
            let mut fields = vec![
                ("Name", Field::text(&snapshot.name)),
                ("Created", Field::text(&snapshot.created)),
                ("MapVersion", Field::count(snapshot.map_version)),
                ("Ranges", Field::count(snapshot.ranges.len() as u64)),
                ("Bytes", Field::Bytes(snapshot.bytes)),
                ("OwnBytes", Field::Bytes(snapshot.own_bytes)),
                ("Tables", Field::count(count)),
            ];
            let named = named
                .iter()
                .map(|(field, name)| (&**field, Field::text(name)));
            fields.extend(named);
            let mut rows = Output::stdout(output, Shape::Single, None);
            rows.measured(&fields)?;
            rows.finish()?;
        }
        let tables = many(count, "table", "tables");
        progress.finish(&format!("snapshot {name} with {tables}"));
        Ok(Outcome::Done)
    }
}
