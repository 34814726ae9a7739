//! `partita config show`: every setting, its value, and the layer that gave it. Secrets are hidden.

use std::fmt::Write as _;

use serde_json::{Value as Json, json};

use super::setting::Takes;
use super::values::{Source, Value, Values};
use super::{accounts, catalog};

/// The settings as text, in columns: key, value, source.
pub fn as_table(values: &Values) -> String {
    let rows = values.iter().map(|value| {
        let (key, source) = (value.setting.key, value.source.to_string());
        (key, shown(value), source)
    });
    let rows: Vec<_> = rows.collect();
    let keys = rows.iter().map(|(key, ..)| key.chars().count());
    let texts = rows.iter().map(|(_, text, _)| text.chars().count());
    let key_width = keys.max().unwrap_or(0);
    let text_width = texts.max().unwrap_or(0).min(TEXT_WIDTH_MAX);
    let mut table = String::new();
    for (key, text, source) in &rows {
        writeln!(table, "{key:key_width$}  {text:text_width$}  {source}")
            .expect("a String takes any text");
    }
    table
}

/// The maximum width of the value column. Longer values shift their source to the right.
const TEXT_WIDTH_MAX: usize = 48;

/// The settings as JSON, one object each: key, value, source, flag and variable.
pub fn as_json(values: &Values) -> Json {
    let entry = |value: &Value| {
        let (layer, name) = match &value.source {
            Source::Default => ("default", None),
            Source::File(path) => ("file", Some(path.display().to_string())),
            Source::Variable(name) => ("variable", Some(name.clone())),
            Source::Flag(flag) => ("flag", Some(format!("--{flag}"))),
        };
        json!({
            "key": value.setting.key,
            "value": json_value(value),
            "source": { "layer": layer, "name": name },
            "flag": format!("--{}", value.setting.flag),
            "variable": value.setting.variable(),
        })
    };
    Json::Array(values.iter().map(entry).collect())
}

fn json_value(value: &Value) -> Json {
    match value.setting.takes {
        _ if value.setting.secret || value.text.is_empty() => {
            Some(shown(value)).filter(|text| text != NOT_SET).into()
        }
        Takes::Switch => Json::Bool(matches!(value.text.as_str(), "true" | "1")),
        Takes::Many(_) => value.text.split(',').map(str::trim).collect(),
        Takes::One(_) => Json::String(value.text.clone()),
    }
}

const NOT_SET: &str = "-";

fn shown(value: &Value) -> String {
    if value.setting.key == catalog::ACCOUNTS.key {
        return accounts_shown(&value.text);
    }
    match value.text.as_str() {
        "" => NOT_SET.to_owned(),
        _ if value.setting.secret => "(hidden)".to_owned(),
        text => text.to_owned(),
    }
}

/// The accounts' names with the number of their keys.
fn accounts_shown(text: &str) -> String {
    let accounts = match text {
        "" => Ok(accounts::well_known()),
        text => accounts::parse(text),
    };
    let Ok(accounts) = accounts else {
        return "(unreadable)".to_owned();
    };
    let one = |account: &accounts::Account| {
        let well_known = account.keys.iter().any(|key| key.is_well_known());
        let keys = match (account.keys.len(), well_known) {
            (1, true) => "well-known key",
            (1, false) => "1 key",
            (_, true) => "2 keys, one well-known",
            (_, false) => "2 keys",
        };
        format!("{} ({keys})", account.name)
    };
    accounts.iter().map(one).collect::<Vec<_>>().join(", ")
}
