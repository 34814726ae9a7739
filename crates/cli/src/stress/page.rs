//! `partita stress page REPORT`: the page of a report that was written before.

use super::files;
use crate::error::{End, Failure};
use crate::output;
use clap::{Arg, ArgMatches, Command};
use partita_tools::stress::Report;

pub(crate) fn command() -> Command {
    Command::new("page")
        .about("Print the page of a report, HTML with plots, to look at in a browser")
        .arg(
            Arg::new("report")
                .required(true)
                .value_name("REPORT")
                .help("Report that --report wrote"),
        )
}

pub(crate) fn run(matches: &ArgMatches) -> Result<End, Failure> {
    let report = files::read(matches, "report")?;
    output::print(&html(&report))?;
    Ok(End::Done)
}

/// The page.
pub(crate) fn html(report: &Report) -> String {
    partita_tools::stress::html(report)
}
