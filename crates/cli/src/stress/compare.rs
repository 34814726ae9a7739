//! `partita stress compare A B`: two reports side by side.

use super::files;
use crate::prelude::*;
use clap::value_parser;
use partita_tools::stress::{Judgement, compare, differences};
use std::path::PathBuf;

/// Compare two reports: throughput, latencies, failures and refusals
#[derive(clap::Args)]
#[command(
    after_help = "Exit code 0: no number is worse by more than the tolerance. 1: at least one is. 2: the reports cannot be compared."
)]
pub(crate) struct CompareCommand {
    /// Report to compare with
    #[arg(value_name = "A")]
    before: PathBuf,
    /// Report that must not be worse
    #[arg(value_name = "B")]
    after: PathBuf,
    /// How much worse each number of B may be, in percent of the number of A
    #[arg(long, value_name = "PERCENT", value_parser = value_parser!(u16).range(0..=1000), default_value_t = 10)]
    tolerance: u16,
    /// Compare the reports even if the runs had different settings
    #[arg(long)]
    anyway: bool,
    #[command(flatten)]
    output: OutputArgs,
}

impl Command for CompareCommand {
    fn run(self) -> CommandResult {
        let (before, after) = (files::read(&self.before)?, files::read(&self.after)?);
        let different = differences(&before.settings, &after.settings);
        if !different.is_empty() {
            let list = different.join("; ");
            if !self.anyway {
                return Err(CommandError::usage(format!(
                    "the runs had different settings ({list}): add --anyway to compare them"
                )));
            }
            message(&format!("the runs had different settings: {list}"));
        }
        let tolerance = f64::from(self.tolerance) / 100.0;
        let changes = compare(&before, &after, tolerance);
        self.output.write(Shape::Rows, |output| {
            changes.iter().try_for_each(|change| {
                let ratio = change.ratio.map(|ratio| format!("{ratio:.3}"));
                output.record(&[
                    ("operation", Field::text(&change.operation)),
                    ("figure", Field::text(change.figure)),
                    ("a", Field::double(change.before)),
                    ("b", Field::double(change.after)),
                    ("ratio", Field::text(ratio.as_deref().unwrap_or_default())),
                    ("judgement", Field::text(change.judgement.name())),
                ])
            })
        })?;
        let judged = |judgement| {
            let judged = changes.iter().filter(|it| it.judgement == judgement);
            judged.count() as u64
        };
        let worse = judged(Judgement::Worse);
        message(&format!(
            "{} worse by more than {} %, {} better, {} the same",
            many(worse, "number", "numbers"),
            self.tolerance,
            count(judged(Judgement::Better)),
            count(judged(Judgement::Same)),
        ));
        Ok(if worse > 0 {
            Outcome::Differs
        } else {
            Outcome::Done
        })
    }
}
