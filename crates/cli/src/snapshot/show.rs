//! `partita snapshot show NAME`: the contents of a snapshot, and the space that no other snapshot or range needs.

use super::SnapshotArgs;
use crate::prelude::*;
use partita_tools::admin::AdminPort;

/// Show a snapshot and its tables
#[derive(clap::Args)]
pub(crate) struct ShowCommand {
    #[command(flatten)]
    snapshot: SnapshotArgs,
}

impl AdminPortCommand for ShowCommand {
    async fn run(self, port: AdminPort, progress: Progress) -> CommandResult {
        let SnapshotArgs { name, output } = self.snapshot;
        let page = port.snapshot(&name).await?;
        let (snapshot, tables) = (&page.document.snapshot, &page.document.tables);
        let summary = &snapshot.summary;
        let count = tables.len() as u64;
        let named = tables.iter().zip(1..).map(|(table, number)| {
            let name = format!("{}/{}", table.account, table.table);
            (format!("table{number}"), name)
        });
        let named: Vec<(String, String)> = named.collect();
        let mut fields = vec![
            ("name", Field::text(&summary.name)),
            ("created", Field::text(&summary.created)),
            ("map_version", Field::id(summary.map_version)),
            ("ranges", Field::count(summary.ranges.len() as u64)),
            ("bytes", Field::Bytes(summary.bytes)),
            ("own_bytes", Field::Bytes(snapshot.own_bytes)),
            ("tables", Field::count(count)),
        ];
        let named = named
            .iter()
            .map(|(field, name)| (&**field, Field::text(name)));
        fields.extend(named);
        output.write_document(&page.text, Shape::Single, |output| output.record(&fields))?;
        let tables = many(count, "table", "tables");
        progress.finish(&format!("snapshot {name} with {tables}"), Outcome::Done)
    }
}
