//! `partita scan TABLE`: reads every row, with parallel requests.

use crate::args::connection::Connection;
use crate::args::{ConnectionArgs, ResumeArgs, ScanArgs, SelectArgs};
use crate::error::{CommandError, Outcome};
use crate::output::{Output, OutputArgs, OutputRow, Shape};
use crate::progress::Progress;
use crate::scan_session::ScanSpec;
use crate::units::many;
use partita_tools::scan::{Emit, Order};

#[derive(clap::Args)]
#[command(about = "Read every row of a table, with parallel requests")]
pub(crate) struct ScanCommand {
    /// Table name
    #[arg(value_name = "TABLE")]
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
    resume: ResumeArgs,
    #[command(flatten)]
    scan: ScanArgs,
    #[command(flatten)]
    connection: ConnectionArgs,
}

impl ScanCommand {
    pub(crate) async fn run(self) -> Result<Outcome, CommandError> {
        let connection = Connection::new(&self.connection)?;
        let columns = self.select.names();
        let order = if self.unordered {
            Order::Any
        } else {
            Order::Table
        };
        let select = columns.clone().unwrap_or_default();
        let filter = self.filter.as_deref();
        let spec = ScanSpec::new(&self.scan, filter, select, Emit::EveryRow, order)?;
        let mut progress = Progress::new(&connection);
        let resume = self.resume.resume.as_deref();
        let mut session = spec
            .start::<()>("scan", resume, &connection, &self.table)
            .await?;
        let mut output = Output::stdout(self.output, Shape::Rows, columns.as_deref());
        progress.start_bar("rows", self.scan.total, true);
        let (mut rows, etag) = (0, self.etag);
        let scanned = session.run(&progress, |(), batch| {
            for row in &batch.rows {
                output.row(&OutputRow::Scanned { row, etag })?;
            }
            rows += batch.rows.len() as u64;
            Ok(rows)
        });
        if let Err(error) = scanned.await {
            if !matches!(error, CommandError::Output(_)) {
                output.finish()?;
            }
            session.print_token(&error);
            return Err(error);
        }
        output.finish()?;
        progress.finish(&many(rows, "row", "rows"));
        Ok(Outcome::of_count(rows))
    }
}
