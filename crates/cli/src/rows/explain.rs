//! `partita explain --filter FILTER`: the plan of a query with this filter, made without a server.

use crate::args::NeededFilterArgs;
use crate::command::{Command, CommandError, CommandResult, Outcome};
use crate::output::{self, Field, Format, OutputArgs, Shape, to_json};
use partita_server::explain::Explained;
use serde_json::Value;

/// Show what a query with this filter would read
#[derive(clap::Args)]
pub(crate) struct ExplainCommand {
    #[command(flatten)]
    filter: NeededFilterArgs,
    #[command(flatten)]
    output: OutputArgs,
}

impl Command for ExplainCommand {
    fn run(self) -> CommandResult {
        let explained = Explained::new(self.filter.checked()?)?;
        match self.output.format() {
            Format::Table => output::print(&explained.as_text())?,
            Format::Json => output::print(&to_json(&explained.as_json())?)?,
            Format::Jsonl => output::print(&explained.as_json().to_string())?,
            Format::Csv => write_fields(self.output, &explained.as_json())?,
        }
        Ok(Outcome::Done)
    }
}

/// Writes the fields of the document in one row, lists as JSON.
fn write_fields(args: OutputArgs, document: &Value) -> Result<(), CommandError> {
    let fields = document.as_object().into_iter().flatten();
    let fields: Vec<(&str, String)> = fields
        .map(|(name, value)| {
            let text = value.as_str().map(str::to_owned);
            (name.as_str(), text.unwrap_or_else(|| value.to_string()))
        })
        .collect();
    let record = fields.iter().map(|(name, text)| (*name, Field::text(text)));
    let record: Vec<_> = record.collect();
    args.write(Shape::Single, |output| output.record(&record))
}
