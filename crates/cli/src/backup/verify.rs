//! `partita backup verify URL`: whether a backup is complete.

use super::parse_place;
use crate::error::{CommandError, Outcome};
use crate::output::{self, Field, Format, Output, OutputArgs, Shape};
use crate::progress::message;
use crate::units::{bytes, many};
use partita_server::backup::{Finding, Place, Verified, verify};
use serde::Serialize;

#[derive(clap::Args)]
#[command(about = "Read every file of a backup, and show which are missing, short or changed")]
pub(super) struct VerifyCommand {
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
    /// Files that do not belong to the backup.
    strangers: &'a [String],
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

impl VerifyCommand {
    pub(super) async fn run(self) -> Result<Outcome, CommandError> {
        let place = &self.url;
        let what = || format!("cannot verify the backup in {place}");
        let store = place.store().map_err(CommandError::because(what()))?;
        let verified = verify(&*store, &|_| {})
            .await
            .map_err(CommandError::because(what()))?;
        let findings = verified.findings.iter().map(finding);
        let findings: Vec<FindingDocument<'_>> = findings.collect();
        if self.output.format() == Format::Json {
            output::print_json(&VerifiedDocument {
                files: verified.files,
                bytes: verified.bytes,
                rows: verified.rows,
                findings,
                strangers: &verified.unexpected,
            })?;
        } else {
            write_findings(self.output, &findings)?;
        }
        for name in &verified.unexpected {
            message(&format!("{name} does not belong to the backup"));
        }
        message(&summary(&verified));
        Ok(if verified.findings.is_empty() {
            Outcome::Done
        } else {
            Outcome::Differs
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

fn write_findings(args: OutputArgs, findings: &[FindingDocument<'_>]) -> Result<(), CommandError> {
    let mut output = Output::stdout(args, Shape::Rows, None);
    for finding in findings {
        let mut fields = vec![
            ("Finding", Field::text(finding.what)),
            ("File", Field::text(finding.file)),
        ];
        let sizes = [("Bytes", finding.bytes), ("Expected", finding.expected)];
        let sizes = sizes
            .into_iter()
            .filter_map(|(name, size)| Some((name, Field::count(size?))));
        fields.extend(sizes);
        output.measured(&fields)?;
    }
    output.finish()
}

fn summary(verified: &Verified) -> String {
    let judgement = match verified.findings.len() as u64 {
        0 => "the backup is complete".to_owned(),
        damaged => format!("{} damaged", many(damaged, "file is", "files are")),
    };
    format!(
        "{}, {}, {} read: {judgement}",
        many(verified.files, "file", "files"),
        many(verified.rows, "row", "rows"),
        bytes(verified.bytes),
    )
}
