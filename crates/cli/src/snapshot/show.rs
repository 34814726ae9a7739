//! `partita snapshot show NAME`

use std::process::ExitCode;

use clap::ArgMatches;
use serde_json::Value;

use super::list::columns;
use super::{as_json, count, page, port, size, text};
use crate::output::plain as output;

pub(crate) async fn run(matches: &ArgMatches) -> anyhow::Result<ExitCode> {
    let shown: Value = port(matches)?.page(&page(matches)?).await?.read()?;
    if as_json(matches, &shown)? {
        return Ok(ExitCode::SUCCESS);
    }
    let version = shown.get("map_version").and_then(Value::as_u64);
    let facts = [
        ("name", text(&shown, "name").to_owned()),
        ("created", text(&shown, "created").to_owned()),
        ("ranges", count(&shown, "ranges").to_string()),
        ("map version", version.unwrap_or_default().to_string()),
        ("size", size(&shown, "bytes")),
        ("only here", size(&shown, "own_bytes")),
        ("tables", count(&shown, "tables").to_string()),
    ];
    let mut rows: Vec<[String; 2]> = Vec::new();
    rows.extend(facts.map(|(fact, value)| [fact.to_owned(), value]));
    let tables = shown.get("tables").and_then(Value::as_array);
    for table in tables.into_iter().flatten() {
        let name = format!("{}/{}", text(table, "account"), text(table, "table"));
        rows.push(["table".to_owned(), name]);
    }
    output::data(&columns(&rows))?;
    Ok(ExitCode::SUCCESS)
}
