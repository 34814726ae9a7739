//! `partita backup NAME --to URL`: a snapshot copied out of the store; `partita backup verify URL`: whether the copy is whole.

pub(crate) mod restore;

use std::process::ExitCode;

use crate::args::admin_port;
use anyhow::Context as _;
use clap::{Arg, ArgAction, ArgMatches, Command};
use partita_server::backup::{Finding, Place, Verified, verify};
use partita_tools::admin::AdminPort;
use serde_json::{Value, json};

use crate::command_line as cli;
use crate::output::plain as output;
use crate::snapshot::{as_json, many, port, size, text};

const NAME: &str = "name";
const TO: &str = "to";
const URL: &str = "url";
const TEMPORARY: &str = "temporary";

/// The command.
pub(crate) fn command() -> Command {
    let verify = Command::new("verify")
        .about("Read every file of a backup, and tell what is missing, short or changed")
        .arg(url(URL, "URL", "Where it is").required(true))
        .arg(cli::output());
    Command::new("backup")
        .about("Copy a snapshot into a directory or an object store")
        .args_conflicts_with_subcommands(true)
        .subcommand_negates_reqs(true)
        .arg(
            Arg::new(NAME)
                .value_name("NAME")
                .help("The snapshot [default: one that is taken now, and deleted once it is copied]"),
        )
        .arg(
            url(TO, "URL", "Where to: a path or file:// on the server's machine, or a URL of an object store; in a place it may write to (--backup-place)")
                .long(TO)
                .required(true),
        )
        .arg(
            Arg::new(TEMPORARY)
                .long(TEMPORARY)
                .action(ArgAction::SetTrue)
                .requires(NAME)
                .help("Delete the snapshot once it is copied; take it now if it is not there"),
        )
        .arg(admin_port::argument())
        .arg(cli::output())
        .subcommand(verify)
        .after_help("Run it again after an interruption, with the same NAME: what is there and whole is not copied again. `partita restore`\nmakes a store from it.")
}

fn url(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name).value_name(value).help(help)
}

/// Runs it.
pub(crate) fn run(matches: &ArgMatches) -> anyhow::Result<ExitCode> {
    match matches.subcommand() {
        Some(("verify", matches)) => check(matches),
        _ => crate::command_line::run::blocking(copy(matches)),
    }
}

async fn copy(matches: &ArgMatches) -> anyhow::Result<ExitCode> {
    let (admin, place) = (port(matches)?, place(matches, TO)?);
    let named = matches.get_one::<String>(NAME);
    let name = match named {
        Some(_) => crate::snapshot::checked_name(matches)?.to_owned(),
        None => format!("backup-{}", time_digits(&admin).await?),
    };
    if named.is_none() {
        output::talk(&format!("taking snapshot {name}"));
    }
    let temporary = named.is_none() || matches.get_flag(TEMPORARY);
    let wish = json!({ "to": place.to_string(), "temporary": temporary });
    let copied = admin
        .job(
            &format!("/admin/v1/snapshots/{name}/backup"),
            &wish.to_string(),
        )
        .await;
    let copied = copied.with_context(|| match temporary {
        false => format!("the backup of {name} is not finished"),
        true => format!(
            "the backup is not finished; to go on: partita backup {name} --to {place} --temporary; to give it up: partita snapshot \
             delete {name}"
        ),
    })?;
    if !as_json(matches, &copied)? {
        let number = |member: &str| {
            copied
                .get(member)
                .and_then(Value::as_u64)
                .unwrap_or_default()
        };
        let kept = match number("kept") {
            0 => String::new(),
            kept => format!(", {kept} of them there already"),
        };
        output::talk(&format!(
            "backed up {name} to {place}: {} in {}{kept}, {}",
            many(number("rows"), "row"),
            many(number("parts"), "part"),
            size(&copied, "bytes"),
        ));
    }
    if !text(&copied, "warning").is_empty() {
        output::talk(text(&copied, "warning"));
    }
    Ok(ExitCode::SUCCESS)
}

/// The server's time as digits: to the second, by what its status page says.
async fn time_digits(admin: &AdminPort) -> anyhow::Result<String> {
    let status: Value = admin.page("/admin/v1/status").await?.read()?;
    let started = text(&status, "started_at").to_owned();
    let uptime = status.get("uptime_seconds").and_then(Value::as_f64);
    let digits: String = started.chars().filter(char::is_ascii_digit).collect();
    Ok(format!(
        "{digits}-{:.0}",
        uptime.unwrap_or_default() * 1000.0
    ))
}

fn check(matches: &ArgMatches) -> anyhow::Result<ExitCode> {
    let place = place(matches, URL)?;
    let verified = crate::command_line::run::blocking(async {
        let store = place.store()?;
        let verified = verify(&*store, &|_| {}).await;
        verified.with_context(|| format!("the backup in {place} cannot be verified"))
    })?;
    if cli::is_json(matches) {
        output::data(&format!("{:#}\n", verified_json(&verified)))?;
    } else {
        for finding in &verified.findings {
            output::data(&match finding {
                Finding::Missing(name) => format!("missing  {name}\n"),
                Finding::Short(name, bytes, expected) => {
                    format!("short    {name} ({bytes} of {expected} bytes)\n")
                }
                Finding::Changed(name) => format!("changed  {name}\n"),
            })?;
        }
        for name in &verified.strangers {
            output::talk(&format!("{name} is no part of the backup"));
        }
        let judgement = match verified.findings.len() {
            0 => "it is whole".to_owned(),
            damaged => format!("{} damaged", many(damaged as u64, "file")),
        };
        output::talk(&format!(
            "read {}, {}: {judgement}",
            many(verified.files, "file"),
            many(verified.rows, "row"),
        ));
    }
    Ok(ExitCode::from(u8::from(!verified.findings.is_empty())))
}

fn verified_json(verified: &Verified) -> Value {
    let findings = verified.findings.iter().map(|finding| match finding {
        Finding::Missing(name) => json!({ "file": name, "what": "missing" }),
        Finding::Short(name, bytes, expected) => {
            json!({ "file": name, "what": "short", "bytes": bytes, "expected": expected })
        }
        Finding::Changed(name) => json!({ "file": name, "what": "changed" }),
    });
    json!({
        "files": verified.files,
        "bytes": verified.bytes,
        "rows": verified.rows,
        "findings": findings.collect::<Vec<_>>(),
        "strangers": verified.strangers,
    })
}

/// The place that was named; a path from here is made absolute.
pub(crate) fn place(matches: &ArgMatches, name: &str) -> anyhow::Result<Place> {
    let text = matches.get_one::<String>(name).map(String::as_str);
    let text = text.unwrap_or_default();
    if text.contains("://") {
        return Ok(Place::parse(text)?);
    }
    let path = std::path::absolute(text)?;
    Ok(Place::parse(
        path.to_str().context("the path is not UTF-8")?,
    )?)
}
