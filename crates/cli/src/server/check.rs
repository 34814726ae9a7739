//! `partita check --data DIR`: verifies the files of a data directory that no server uses.

use crate::output::Format;
use crate::prelude::*;
use partita_server::check::{Checked, Finding, Severity, check, rebuild_map};
use partita_tools::source::Traffic;
use serde::Serialize;
use std::path::PathBuf;
use std::sync::Arc;

/// Verify every file of a data directory, and say what is damaged, what it means and what can be done
#[derive(clap::Args)]
#[command(
    after_help = "Stop the server first. Reads every file once and changes nothing. Exit code 0: sound. 1: rows are lost, or the server would not start. 2: the directory could not be checked."
)]
pub(crate) struct CheckCommand {
    /// Data directory, as in `partita serve --location`
    #[arg(long, visible_alias = "location", value_name = "DIR")]
    data: PathBuf,
    /// Write a lost partition map again, if the serving records determine it; then check
    #[arg(long)]
    rebuild_map: bool,
    #[command(flatten)]
    output: OutputArgs,
}

/// The document of `--output json`.
#[derive(Serialize)]
struct CheckDocument<'a> {
    sound: bool,
    ranges: u64,
    files: u64,
    bytes: u64,
    findings: Vec<FindingDocument<'a>>,
}

#[derive(Serialize)]
struct FindingDocument<'a> {
    severity: &'static str,
    file: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    keys: Option<&'a str>,
    problem: &'a str,
    meaning: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    remedy: &'a str,
}

impl Command for CheckCommand {
    fn run(self) -> CommandResult {
        block_on(async move {
            if self.rebuild_map {
                let file = rebuild_map(&self.data).await?;
                message(&format!("wrote {file}"));
            }
            let bar = Progress::new(&Arc::new(Traffic::default())).bar;
            let checked = check(&self.data, &|read, total| bar.set_bytes(read, total)).await;
            bar.hide();
            let checked = checked?;
            self.write(&checked)?;
            message(&summary(&checked));
            Ok(match checked.is_damaged() {
                true => Outcome::Differs,
                false => Outcome::Done,
            })
        })
    }
}

impl CheckCommand {
    fn write(&self, checked: &Checked) -> Result<(), CommandError> {
        if self.output.format() == Format::Table {
            // Writes each finding as a line of text, because a table would truncate it.
            let mut findings = checked.findings.iter();
            return findings.try_for_each(|finding| output::print(&finding.to_string()));
        }
        let document = CheckDocument {
            sound: !checked.is_damaged(),
            ranges: checked.ranges,
            files: checked.files,
            bytes: checked.bytes,
            findings: checked.findings.iter().map(finding).collect(),
        };
        let json = to_json(&document)?;
        self.output.write_document(&json, Shape::Rows, |output| {
            let mut findings = document.findings.iter();
            findings.try_for_each(|finding| write_finding(finding, output))
        })
    }
}

fn finding(finding: &Finding) -> FindingDocument<'_> {
    FindingDocument {
        severity: finding.severity.as_str(),
        file: &finding.file,
        range: finding.range,
        keys: finding.keys.as_deref(),
        problem: &finding.problem,
        meaning: &finding.meaning,
        remedy: &finding.remedy,
    }
}

fn write_finding(finding: &FindingDocument<'_>, output: &mut Output) -> Result<(), CommandError> {
    let mut fields = vec![
        ("severity", Field::text(finding.severity)),
        ("file", Field::text(finding.file)),
        ("problem", Field::text(finding.problem)),
        ("meaning", Field::text(finding.meaning)),
        ("remedy", Field::text(finding.remedy)),
    ];
    if let Some(range) = finding.range {
        fields.push(("range", Field::id(range)));
    }
    if let Some(keys) = finding.keys {
        fields.push(("keys", Field::text(keys)));
    }
    output.record(&fields)
}

fn summary(checked: &Checked) -> String {
    let [damaged, warnings, notes] = [Severity::Damage, Severity::Warning, Severity::Note]
        .map(|severity| checked.count(severity));
    let judgement = match damaged {
        0 => "the data is sound".to_owned(),
        _ => format!("{} of damage", many(damaged, "finding", "findings")),
    };
    format!(
        "{}, {}, {}: {judgement}, {}, {}",
        many(checked.ranges, "range", "ranges"),
        many(checked.files, "file", "files"),
        bytes(checked.bytes),
        many(warnings, "warning", "warnings"),
        many(notes, "note", "notes"),
    )
}
