//! `partita config show`: every setting, its value and its source. Invalid settings are an error, as at a start of the server.

use crate::args::SettingsArgs;
use crate::error::{CommandError, Outcome};
use crate::output::{self, Field, Format, Output, OutputArgs, Shape};
use partita_server::config;
use serde_json::Value;

#[derive(clap::Args)]
#[command(about = "Show every setting, its value, and where the value comes from")]
pub(crate) struct ShowCommand {
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    settings: SettingsArgs,
}

impl ShowCommand {
    pub(super) fn run(self) -> Result<Outcome, CommandError> {
        let (_, values) = self.settings.resolve()?;
        match self.output.format() {
            Format::Table => output::print(&config::as_table(&values))?,
            Format::Json => output::print_json(&config::as_json(&values))?,
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

/// A row for each setting.
fn write_columns(args: OutputArgs, settings: &Value) -> Result<(), CommandError> {
    let mut output = Output::stdout(args, Shape::Rows, None);
    let text = |value: &Value| match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    for setting in settings.as_array().into_iter().flatten() {
        let (key, value) = (text(&setting["key"]), text(&setting["value"]));
        let source = &setting["source"];
        let (layer, name) = (text(&source["layer"]), text(&source["name"]));
        output.measured(&[
            ("Key", Field::text(&key)),
            ("Value", Field::text(&value)),
            ("Source", Field::text(&layer)),
            ("SourceName", Field::text(&name)),
        ])?;
    }
    output.finish()
}
