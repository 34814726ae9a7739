//! `partita count TABLE`: counts rows by reading their keys.

use crate::args::{FilterArgs, ResumableScanArgs};
use crate::output::Format;
use crate::prelude::*;
use crate::scan_session::ScanSpec;
use partita_tools::scan::{Emit, Order};

/// Count the rows of a table by reading their keys, with parallel requests
#[derive(clap::Args)]
pub(crate) struct CountCommand {
    /// Table name
    table: String,
    #[command(flatten)]
    filter: FilterArgs,
    /// Output format [default: the number alone]
    #[arg(long, short, value_name = "FORM")]
    output: Option<Format>,
    #[command(flatten)]
    scan: ResumableScanArgs,
}

impl AccountCommand for CountCommand {
    async fn run(self, connection: Connection, progress: Progress) -> CommandResult {
        let scan = &self.scan.scan;
        let (filter, keys) = (self.filter.checked()?, ScanSpec::keys_only());
        let spec = ScanSpec::new(scan, filter, keys, Emit::EveryRow, Order::Any)?;
        let mut session = spec
            .start::<u64>("count", Some(&self.scan.resume), &connection, &self.table)
            .await?;
        progress.start_bar("rows", scan.total, false);
        let counted = session.run(&progress, |rows, batch| {
            *rows += batch.rows.len() as u64;
            Ok(*rows)
        });
        if let Err(error) = counted.await {
            return Err(session.stop(error, None));
        }
        let rows = session.state;
        progress.bar.hide();
        match self.output {
            None => output::print(&rows.to_string())?,
            Some(format) => OutputArgs::of(format).write(Shape::Single, |output| {
                output.record(&[
                    ("table", Field::text(&self.table)),
                    ("rows", Field::count(rows)),
                ])
            })?,
        }
        progress.finish_count(rows, "row", "rows")
    }
}
