//! `partita stress page REPORT`: a report as a page with plots.

use super::files;
use crate::prelude::*;
use partita_tools::stress::html;
use std::path::PathBuf;

/// Print a report as an HTML page with plots, for a browser
#[derive(clap::Args)]
pub(crate) struct PageCommand {
    /// Report file, written by `partita stress TABLE --report FILE`
    report: PathBuf,
}

impl Command for PageCommand {
    fn run(self) -> CommandResult {
        let report = files::read(&self.report)?;
        output::print(&html(&report))?;
        Ok(Outcome::Done)
    }
}
