//! `partita backup verify URL`: checks that a backup is complete and unchanged.

use super::{check_exists, parse_place};
use crate::prelude::*;
use partita_server::backup::{Finding, Place, Verified, verify};
use serde::Serialize;

/// Read every file of a backup, and show which are missing, short or changed
#[derive(clap::Args)]
pub(crate) struct VerifyCommand {
    /// The backup: a path, or a URL
    #[arg(value_name = "URL", value_parser = parse_place)]
    url: Place,
    #[command(flatten)]
    output: OutputArgs,
}

/// The document of `--output json`.
#[derive(Serialize)]
struct VerifiedDocument<'a> {
    files: u64,
    bytes: u64,
    rows: u64,
    findings: Vec<FindingDocument<'a>>,
    /// Files that do not belong to the backup. Scripts depend on the JSON key.
    #[serde(rename = "strangers")]
    untracked: &'a [String],
}

#[derive(Serialize)]
struct FindingDocument<'a> {
    file: &'a str,
    what: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected: Option<u64>,
}

impl Command for VerifyCommand {
    fn run(self) -> CommandResult {
        block_on(async move {
            let place = &self.url;
            let what = || format!("cannot verify the backup in {place}");
            check_exists(place).because(what())?;
            let store = place.store().because(what())?;
            let verified = verify(&*store, &|_| {}).await.because(what())?;
            let document = VerifiedDocument {
                files: verified.files,
                bytes: verified.bytes,
                rows: verified.rows,
                findings: verified.findings.iter().map(finding).collect(),
                untracked: &verified.unexpected,
            };
            let json = to_json(&document)?;
            self.output.write_document(&json, Shape::Rows, |output| {
                let mut findings = document.findings.iter();
                findings.try_for_each(|finding| write_finding(finding, output))
            })?;
            for name in document.untracked {
                message(&format!("{name} does not belong to the backup"));
            }
            message(&summary(&verified));
            Ok(if document.findings.is_empty() {
                Outcome::Done
            } else {
                Outcome::Differs
            })
        })
    }
}

fn finding(finding: &Finding) -> FindingDocument<'_> {
    let (file, what, sizes) = match finding {
        Finding::Missing(name) => (name, "missing", None),
        Finding::Short(name, bytes, expected) => (name, "short", Some((*bytes, *expected))),
        Finding::Changed(name) => (name, "changed", None),
    };
    let (bytes, expected) = sizes.unzip();
    FindingDocument {
        file,
        what,
        bytes,
        expected,
    }
}

fn write_finding(finding: &FindingDocument<'_>, output: &mut Output) -> Result<(), CommandError> {
    let mut fields = vec![
        ("finding", Field::text(finding.what)),
        ("file", Field::text(finding.file)),
    ];
    let sizes = [("bytes", finding.bytes), ("expected", finding.expected)];
    let sizes = sizes
        .into_iter()
        .filter_map(|(name, size)| Some((name, Field::count(size?))));
    fields.extend(sizes);
    output.record(&fields)
}

fn summary(verified: &Verified) -> String {
    let judgement = match verified.findings.len() as u64 {
        0 => "the backup is complete".to_owned(),
        damaged => format!("{} damaged", many(damaged, "file is", "files are")),
    };
    let files = many(verified.files, "file", "files");
    let rows = many(verified.rows, "row", "rows");
    format!(
        "{files}, {rows}, {} read: {judgement}",
        bytes(verified.bytes)
    )
}
