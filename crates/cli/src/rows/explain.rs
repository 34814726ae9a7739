//! `partita explain FILTER`: what a query with this filter reads, planned without a server.

use crate::error::{CommandError, Outcome};
use crate::output::{self, Format, Output, OutputArgs, Shape};
use partita_client::ValueRef;
use partita_server::explain::Explained;
use serde_json::Value;

#[derive(clap::Args)]
#[command(about = "Show what a query with this filter would read")]
pub(crate) struct ExplainCommand {
    /// OData filter, such as "PartitionKey eq 'a' and RowKey ge 'b'"
    #[arg(value_name = "FILTER")]
    filter: String,
    #[command(flatten)]
    output: OutputArgs,
}

impl ExplainCommand {
    pub(crate) fn run(self) -> Result<Outcome, CommandError> {
        let explained = Explained::new(&self.filter)?;
        match self.output.format() {
            Format::Table => output::print(&explained.as_text())?,
            Format::Json => output::print_json(&explained.as_json())?,
            Format::Jsonl => output::print(&explained.as_json().to_string())?,
            Format::Csv => self.write_fields(&explained.as_json())?,
        }
        Ok(Outcome::Done)
    }

    /// The fields of the document in one row, lists as JSON.
    fn write_fields(&self, document: &Value) -> Result<(), CommandError> {
        let fields = document.as_object().into_iter().flatten();
        let fields: Vec<(&str, String)> = fields
            .map(|(name, value)| {
                let text = value.as_str().map(str::to_owned);
                (name.as_str(), text.unwrap_or_else(|| value.to_string()))
            })
            .collect();
        let record = fields
            .iter()
            .map(|(name, text)| (*name, ValueRef::String(text)));
        let mut output = Output::stdout(self.output, Shape::Single, None);
        output.record(&record.collect::<Vec<_>>())?;
        output.finish()
    }
}
