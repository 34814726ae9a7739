//! `partita snapshot create NAME`

use std::process::ExitCode;

use clap::ArgMatches;
use serde_json::Value;

use super::{as_json, count, many, name, page, port, size, text};
use crate::output::plain as output;

pub(crate) async fn run(matches: &ArgMatches) -> anyhow::Result<ExitCode> {
    let create = format!("{}/create", page(matches)?);
    let taken: Value = port(matches)?.post(&create, "").await?.read()?;
    if !as_json(matches, &taken)? {
        let pause = taken.get("pause_ms").and_then(Value::as_f64);
        output::talk(&format!(
            "took snapshot {} at {}: {}, {}; writes waited {:.1} ms",
            name(matches),
            text(&taken, "created"),
            many(count(&taken, "ranges") as u64, "range"),
            size(&taken, "bytes"),
            pause.unwrap_or_default(),
        ));
    }
    Ok(ExitCode::SUCCESS)
}
