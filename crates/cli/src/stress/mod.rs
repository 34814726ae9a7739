//! `partita stress TABLE`: puts load on a table, measures it, and judges the table's keys. `compare` and `page` read the reports that
//! it writes.
//!
//! - A table that does not exist is created, filled, and deleted at the end, unless `--keep`. An existing table needs `--use-existing`:
//!   rows are only added to it, under RowKeys of the run, marked with its id, and stay.
//! - Ctrl-C ends a run early, with its report. The second Ctrl-C does not wait for open requests.

mod compare;
mod files;
mod live;
mod page;
mod report;
mod run;
mod run_args;
mod run_table;

use crate::command::{Command, block_on, commands};
use crate::error::{CommandError, CommandResult};

#[derive(clap::Args)]
#[command(
    about = "Put load on a table, and show whether its keys would be throttled and what would help",
    after_help = "Exit code 0: within the targets. 1: over the targets, refused, or operations failed. 2: there was no run.\nCost on Azure: a transaction for each operation and for each 100 rows that are loaded.",
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true
)]
pub(crate) struct StressCommand {
    #[command(subcommand)]
    of_report: Option<ReportCommand>,
    #[command(flatten)]
    run: Option<run_args::RunArgs>,
}

commands! {
    enum ReportCommand {
        Compare(compare::CompareCommand),
        Page(page::PageCommand),
    }
}

impl Command for StressCommand {
    fn run(self) -> CommandResult {
        match (self.of_report, self.run) {
            (Some(command), _) => command.run(),
            (None, Some(args)) => block_on(run::run(args)),
            (None, None) => Err(CommandError::usage("TABLE is missing")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Stress {
        #[command(flatten)]
        stress: StressCommand,
    }

    #[test]
    fn it_is_a_run_or_about_a_report() {
        let parsed = |line: &str| {
            let stress = Stress::try_parse_from(line.split_whitespace()).unwrap();
            let StressCommand { of_report, run } = stress.stress;
            (of_report.is_some(), run.is_some())
        };
        assert_eq!(parsed("stress trial --rows 0"), (false, true));
        assert_eq!(parsed("stress compare a b"), (true, false));
    }
}
