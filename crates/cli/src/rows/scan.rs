//! `partita scan TABLE`: reads every row, with parallel requests.

use crate::args::ResumableScanArgs;
use crate::prelude::*;
use crate::scan_session::ScanSpec;
use partita_tools::scan::{Emit, Order};

/// Read every row of a table, with parallel requests
#[derive(clap::Args)]
pub(crate) struct ScanCommand {
    /// Table name
    table: String,
    /// OData filter, such as "Age ge 18 and PartitionKey eq 'a'"
    #[arg(long, value_name = "FILTER")]
    filter: Option<String>,
    #[command(flatten)]
    select: SelectArgs,
    /// Show the ETag of each entity as odata.etag
    #[arg(long)]
    etag: bool,
    /// Return rows as they arrive instead of in key order: faster with several jobs
    #[arg(long)]
    unordered: bool,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    scan: ResumableScanArgs,
}

impl AccountCommand for ScanCommand {
    async fn run(self, connection: Connection, progress: Progress) -> CommandResult {
        let (scan, filter) = (&self.scan.scan, self.filter.as_deref());
        let columns = self.select.names();
        let order = if self.unordered {
            Order::Any
        } else {
            Order::Table
        };
        let select = columns.clone().unwrap_or_default();
        let spec = ScanSpec::new(scan, filter, select, Emit::EveryRow, order)?;
        let mut session = spec
            .start::<()>("scan", Some(&self.scan.resume), &connection, &self.table)
            .await?;
        let mut output = Output::stdout(self.output, Shape::Rows, columns.as_deref());
        progress.start_bar("rows", scan.total, true);
        let (mut rows, etag) = (0, self.etag);
        let scanned = session.run(&progress, |(), batch| {
            for row in &batch.rows {
                output.row(&OutputRow::Scanned { row, etag })?;
            }
            rows += batch.rows.len() as u64;
            Ok(rows)
        });
        if let Err(error) = scanned.await {
            return Err(session.stop(error, Some(output)));
        }
        output.finish()?;
        progress.finish_count(rows, "row", "rows")
    }
}
