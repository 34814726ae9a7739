//! `partita snapshot list`

use std::process::ExitCode;

use clap::ArgMatches;
use serde_json::Value;

use super::{PAGE, as_json, count, port, size, text};
use crate::output::plain as output;

pub(crate) async fn run(matches: &ArgMatches) -> anyhow::Result<ExitCode> {
    let answer: Value = port(matches)?.page(PAGE).await?.read()?;
    let snapshots = answer.get("snapshots").and_then(Value::as_array);
    let snapshots = snapshots.map(Vec::as_slice).unwrap_or_default();
    if !as_json(matches, &answer)? {
        let mut rows = vec![["name", "created", "ranges", "size", "only here"].map(str::to_owned)];
        rows.extend(snapshots.iter().map(|snapshot| {
            [
                text(snapshot, "name").to_owned(),
                text(snapshot, "created").to_owned(),
                count(snapshot, "ranges").to_string(),
                size(snapshot, "bytes"),
                size(snapshot, "own_bytes"),
            ]
        }));
        if !snapshots.is_empty() {
            output::data(&columns(&rows))?;
        }
        let unreadable = answer.get("unreadable").and_then(Value::as_array);
        for snapshot in unreadable.into_iter().flatten() {
            output::talk(&format!(
                "the snapshot in {} cannot be used: {}; it can be deleted by its name",
                text(snapshot, "object"),
                text(snapshot, "why"),
            ));
        }
    }
    Ok(ExitCode::from(u8::from(snapshots.is_empty())))
}

/// Rows as text, each column as wide as its widest cell.
pub(crate) fn columns<const N: usize>(rows: &[[String; N]]) -> String {
    let mut widths = [0; N];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.len().max(*width);
        }
    }
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().zip(widths);
        let line: Vec<String> = cells
            .map(|(cell, width)| format!("{cell:width$}"))
            .collect();
        text.push_str(line.join("  ").trim_end());
        text.push('\n');
    }
    text
}
