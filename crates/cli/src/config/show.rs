//! `partita config show`: every setting, its value and its source. Invalid settings are an error, as when the server
//! starts.

use crate::args::SettingsArgs;
use crate::command::{Command, CommandError, CommandResult, Outcome};
use crate::output::{self, Field, Format, OutputArgs, Shape, to_json};
use partita_server::config;
use serde_json::Value;

/// Show every setting, its value, and where the value comes from
#[derive(clap::Args)]
pub(crate) struct ShowCommand {
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    settings: SettingsArgs,
}

impl Command for ShowCommand {
    fn run(self) -> CommandResult {
        let (_, values) = self.settings.resolve()?;
        match self.output.format() {
            Format::Table => output::print(&config::as_table(&values))?,
            Format::Json => output::print(&to_json(&config::as_json(&values))?)?,
            Format::Jsonl => {
                let settings = config::as_json(&values);
                for setting in settings.as_array().into_iter().flatten() {
                    output::print(&setting.to_string())?;
                }
            }
            Format::Csv => write_columns(self.output, &config::as_json(&values))?,
        }
        Ok(Outcome::Done)
    }
}

/// Writes a row for each setting.
fn write_columns(args: OutputArgs, settings: &Value) -> Result<(), CommandError> {
    let text = |value: &Value| match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    args.write(Shape::Rows, |output| {
        for setting in settings.as_array().into_iter().flatten() {
            let source = &setting["source"];
            output.record(&[
                ("key", Field::text(&text(&setting["key"]))),
                ("value", Field::text(&text(&setting["value"]))),
                ("source", Field::text(&text(&source["layer"]))),
                ("source_name", Field::text(&text(&source["name"]))),
            ])?;
        }
        Ok(())
    })
}
