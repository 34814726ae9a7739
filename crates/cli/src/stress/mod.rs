//! `partita stress TABLE`: puts load on a table, measures it, and judges the table's keys. `compare` and `page` read
//! the reports that it writes.
//!
//! - A table that does not exist is created, filled, and deleted at the end, unless `--keep`. An existing table needs
//!   `--use-existing`: the run adds rows to it, which stay. Their RowKeys and a property have the id of the run.
//! - Ctrl-C ends a run early; the report is still written. The second Ctrl-C does not wait for open requests.

mod compare;
mod files;
mod live;
mod page;
mod report;
mod run;
mod run_args;
mod run_table;

use crate::command::{OrSubcommand, commands};

/// A run, or a command on reports.
pub(crate) type StressCommand = OrSubcommand<run_args::RunCommand, ReportCommand>;

commands! {
    pub(crate) enum ReportCommand {
        Compare(compare::CompareCommand),
        Page(page::PageCommand),
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
    fn the_command_is_a_run_or_reads_reports() {
        let parsed = |line: &str| {
            let stress = Stress::try_parse_from(line.split_whitespace()).unwrap();
            let StressCommand {
                subcommand,
                command,
            } = stress.stress;
            (subcommand.is_some(), command.is_some())
        };
        assert_eq!(parsed("stress trial --rows 0"), (false, true));
        assert_eq!(parsed("stress compare a b"), (true, false));
    }
}
