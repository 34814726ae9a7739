//! `partita count TABLE [FILTER]`: counts rows by reading their keys.

use crate::args::connection::Connection;
use crate::args::{ConnectionArgs, ResumeArgs, ScanArgs};
use crate::error::{CommandError, Outcome};
use crate::output;
use crate::progress::Progress;
use crate::scan_session::ScanSpec;
use crate::units::many;
use partita_tools::scan::{Emit, Order};

#[derive(clap::Args)]
#[command(about = "Count the rows of a table by reading their keys, with parallel requests")]
pub(crate) struct CountCommand {
    /// Table name
    #[arg(value_name = "TABLE")]
    table: String,
    /// OData filter, such as "Age ge 18 and PartitionKey eq 'a'"
    #[arg(value_name = "FILTER")]
    filter: Option<String>,
    #[command(flatten)]
    resume: ResumeArgs,
    #[command(flatten)]
    scan: ScanArgs,
    #[command(flatten)]
    connection: ConnectionArgs,
}

impl CountCommand {
    pub(crate) async fn run(self) -> Result<Outcome, CommandError> {
        let connection = Connection::new(&self.connection)?;
        let (filter, select) = (self.filter.as_deref(), ScanSpec::keys_only());
        let spec = ScanSpec::new(&self.scan, filter, select, Emit::EveryRow, Order::Any)?;
        let mut progress = Progress::new(&connection);
        let resume = self.resume.resume.as_deref();
        let mut session = spec
            .start::<u64>("count", resume, &connection, &self.table)
            .await?;
        progress.start_bar("rows", self.scan.total, false);
        let counted = session.run(&progress, |rows, batch| {
            *rows += batch.rows.len() as u64;
            Ok(*rows)
        });
        if let Err(error) = counted.await {
            session.print_token(&error);
            return Err(error);
        }
        let rows = session.state;
        progress.hide_bar();
        output::print_number(rows)?;
        progress.finish(&many(rows, "row", "rows"));
        Ok(Outcome::of_count(rows))
    }
}
