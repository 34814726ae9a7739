//! `partita stress compare A B`: two reports side by side.

use super::files;
use crate::args::switch;
use crate::error::{End, Failure};
use crate::output::{self, Output, Shape, Shown};
use crate::progress::{many, say};
use clap::{Arg, ArgMatches, Command, value_parser};
use partita_client::ValueRef;
use partita_tools::stress::{Judgement, compare, differences};

pub(crate) fn command() -> Command {
    let report = |id: &'static str, value: &'static str, help: &'static str| {
        Arg::new(id).required(true).value_name(value).help(help)
    };
    let tolerance = Arg::new("tolerance")
        .long("tolerance")
        .value_name("PERCENT")
        .default_value("10");
    let tolerance = tolerance.value_parser(value_parser!(u16).range(0..=1000));
    Command::new("compare")
        .about("Compare two reports: throughput, latencies, failures and refusals")
        .arg(report("before", "A", "Report to compare with"))
        .arg(report("after", "B", "Report that must not be worse"))
        .arg(tolerance.help("By how much a figure of B may be worse, in percent of A's"))
        .arg(switch("anyway", "Compare runs of different settings too"))
        .arg(output::argument())
        .after_help("Exit code 0: nothing is worse by more than the tolerance. 1: something is. 2: they cannot be compared.")
}

pub(crate) fn run(matches: &ArgMatches) -> Result<End, Failure> {
    let (before, after) = (
        files::read(matches, "before")?,
        files::read(matches, "after")?,
    );
    let different = differences(&before.settings, &after.settings);
    if !different.is_empty() {
        let list = different.join("; ");
        if !matches.get_flag("anyway") {
            return Err(Failure::usage(format!(
                "the runs did different things ({list}): --anyway compares them all the same"
            )));
        }
        say(&format!("the runs did different things: {list}"));
    }
    let percent = matches
        .get_one::<u16>("tolerance")
        .copied()
        .unwrap_or_default();
    let changes = compare(&before, &after, f64::from(percent) / 100.0);
    let mut output = Output::of(matches, Shape::Rows, None);
    for change in &changes {
        let ratio = change
            .ratio
            .map(|ratio| format!("{ratio:.3}"))
            .unwrap_or_default();
        output.row(&Shown::Record(&[
            ("Operation", ValueRef::String(&change.operation)),
            ("Figure", ValueRef::String(change.figure)),
            ("A", ValueRef::Double(change.before)),
            ("B", ValueRef::Double(change.after)),
            ("Ratio", ValueRef::String(&ratio)),
            ("Judgement", ValueRef::String(change.judgement.name())),
        ]))?;
    }
    output.end()?;
    let count = |judgement| {
        changes
            .iter()
            .filter(|change| change.judgement == judgement)
            .count() as u64
    };
    let worse = count(Judgement::Worse);
    say(&format!(
        "{} worse by more than {percent} %, {} better, {} the same",
        many(worse, "figure", "figures"),
        crate::progress::count(count(Judgement::Better)),
        crate::progress::count(count(Judgement::Same)),
    ));
    Ok(if worse > 0 { End::Differs } else { End::Done })
}
