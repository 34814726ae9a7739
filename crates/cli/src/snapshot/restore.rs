//! `partita snapshot restore NAME`: tables back into the server, or the whole store into a new directory.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Arg, ArgAction, ArgGroup, ArgMatches, Command, value_parser};
use serde_json::{Value, json};

use super::{as_json, many, name, page, port, size, text};
use crate::output::plain as output;

const TABLE: &str = "table";
const AS: &str = "as";
const ALL_TABLES: &str = "all-tables";
const TO_DIRECTORY: &str = "to-directory";
const ACCOUNT: &str = "account";

pub(crate) fn arguments(command: Command) -> Command {
    let what = [TABLE, ALL_TABLES, TO_DIRECTORY];
    command
        .arg(option(TABLE, "TABLE", "This table"))
        .arg(option(AS, "NAME", "The table's new name [default: its own]").requires(TABLE))
        .arg(
            Arg::new(ALL_TABLES)
                .long(ALL_TABLES)
                .action(ArgAction::SetTrue)
                .help("All tables of the account, each under its own name"),
        )
        .arg(
            option(TO_DIRECTORY, "DIR", "The whole store, into a directory that is not there yet: on the server's machine, in a place it may write to (--backup-place)")
                .value_parser(value_parser!(PathBuf)),
        )
        .arg(option(ACCOUNT, "ACCOUNT", "Whose tables [default: the only account]").conflicts_with(TO_DIRECTORY))
        .group(ArgGroup::new("what").args(what).required(true))
        .after_help("Tables get new ETags and Timestamps; types and values are exact. A table that is there is not touched: say --as, or\ndelete it first. A whole store keeps its ETags and Timestamps, and is served by `partita serve --location DIR`.")
}

fn option(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(value).help(help)
}

pub(crate) async fn run(matches: &ArgMatches) -> anyhow::Result<ExitCode> {
    let (admin, page) = (port(matches)?, page(matches)?);
    if let Some(directory) = matches.get_one::<PathBuf>(TO_DIRECTORY) {
        let directory = std::path::absolute(directory)?;
        let to = directory
            .to_str()
            .context("the directory's name is not UTF-8")?;
        let wish = json!({ "to": to }).to_string();
        let copied = admin.job(&format!("{page}/unpack"), &wish).await?;
        if !as_json(matches, &copied)? {
            let rows = copied.get("rows").and_then(Value::as_u64);
            output::talk(&format!(
                "restored snapshot {} with {}, {}: partita serve --location {to}",
                name(matches),
                many(rows.unwrap_or_default(), "row"),
                size(&copied, "bytes"),
            ));
        }
        return Ok(ExitCode::SUCCESS);
    }
    let word = |name| matches.get_one::<String>(name);
    let wish = json!({ "account": word(ACCOUNT), "table": word(TABLE), "as": word(AS) });
    let restored = admin
        .job(&format!("{page}/restore"), &wish.to_string())
        .await?;
    let tables = restored.get("tables").and_then(Value::as_array);
    let tables = tables.map(Vec::as_slice).unwrap_or_default();
    if !as_json(matches, &restored)? {
        for table in tables {
            let rows = table.get("rows").and_then(Value::as_u64);
            output::talk(&format!(
                "restored table {} as {}: {}",
                text(table, "table"),
                text(table, "as"),
                super::entities(rows.unwrap_or_default()),
            ));
        }
        if tables.is_empty() {
            output::talk("the snapshot has no tables of this account");
        }
    }
    Ok(ExitCode::from(u8::from(tables.is_empty())))
}
