//! `partita table list [FILTER]`

use super::next_name;
use crate::args::ConnectionArgs;
use crate::args::connection::Connection;
use crate::error::{CommandError, Outcome};
use crate::output::{Output, OutputArgs, Shape};
use crate::progress::Progress;
use crate::units::many;
use partita_client::{Filter, ValueRef};

#[derive(clap::Args)]
#[command(about = "List the tables")]
pub(crate) struct ListCommand {
    /// OData filter, such as "TableName ge 'm'"
    #[arg(value_name = "FILTER")]
    filter: Option<String>,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    connection: ConnectionArgs,
}

impl ListCommand {
    pub(super) async fn run(self) -> Result<Outcome, CommandError> {
        let connection = Connection::new(&self.connection)?;
        let progress = Progress::new(&connection);
        let mut output = Output::stdout(self.output, Shape::Rows, None);
        let mut tables = match self.filter {
            Some(filter) => connection.service.query_tables(Filter::raw(filter)),
            None => connection.service.list_tables(),
        };
        let mut found = 0;
        while let Some(name) = next_name(&mut tables).await {
            output.record(&[("TableName", ValueRef::String(&name?))])?;
            found += 1;
        }
        output.finish()?;
        progress.finish(&many(found, "table", "tables"));
        Ok(Outcome::of_count(found))
    }
}
