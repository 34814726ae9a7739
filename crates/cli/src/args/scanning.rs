//! Flags of commands that read whole tables: which partitions, with how many parallel requests, and where to resume.

use super::choice;
use clap::builder::TypedValueParser;
use clap::value_parser;
use partita_tools::scan::{Bounds, Lower, Strategy, Upper};

/// Which partitions of a table are read, and how.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Scan")]
pub(crate) struct ScanArgs {
    /// How to divide the table into parallel reads: serial (not at all), prefix (by key prefixes), ranges (by the
    /// server's ranges), or auto (by ranges if the server shows them, else by prefixes)
    #[arg(long, value_name = "HOW", value_parser = strategies(), default_value = "auto")]
    pub(crate) strategy: Strategy,
    /// Parallel requests, 1 to 256
    #[arg(long, short, value_name = "N", value_parser = value_parser!(u16).range(1..=256), default_value_t = 4)]
    jobs: u16,
    /// Only partitions whose PartitionKey has this prefix
    #[arg(long, value_name = "KEY", conflicts_with_all = ["from", "after", "before", "through"])]
    prefix: Option<String>,
    /// Only partitions from this PartitionKey on
    #[arg(long, value_name = "KEY", conflicts_with = "after")]
    from: Option<String>,
    /// Only partitions after this PartitionKey
    #[arg(long, value_name = "KEY")]
    after: Option<String>,
    /// Only partitions before this PartitionKey
    #[arg(long, value_name = "KEY", conflicts_with = "through")]
    before: Option<String>,
    /// Only partitions up to and including this PartitionKey
    #[arg(long, value_name = "KEY")]
    through: Option<String>,
    /// Rows per page, 1 to 1,000
    #[arg(long, value_name = "N", value_parser = value_parser!(u16).range(1..=1000), default_value_t = 1000)]
    pub(crate) page_rows: u16,
    /// Expected number of rows, to show the time left: the protocol has no row count
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..))]
    pub(crate) total: Option<u64>,
    /// URL of Partita's admin port, for its ranges [default: http://127.0.0.1:10010 for tables on port 10002 of this
    /// machine]
    #[arg(long, value_name = "URL", help_heading = "Connection")]
    pub(crate) admin: Option<String>,
}

fn strategies() -> impl TypedValueParser<Value = Strategy> {
    choice([
        ("auto", Strategy::Auto),
        ("serial", Strategy::Serial),
        ("prefix", Strategy::Prefix),
        ("ranges", Strategy::Ranges),
    ])
}

impl ScanArgs {
    /// Parallel requests.
    pub(crate) fn jobs(&self) -> usize {
        self.jobs.into()
    }

    /// Which partitions are read.
    pub(crate) fn bounds(&self) -> Bounds {
        if let Some(prefix) = &self.prefix {
            return Bounds::of_prefix(prefix);
        }
        let from = self.from.clone().map(Lower::From);
        let after = self.after.clone().map(Lower::After);
        let before = self.before.clone().map(Upper::Before);
        let through = self.through.clone().map(Upper::Through);
        Bounds {
            lower: from.or(after).unwrap_or_default(),
            upper: before.or(through).unwrap_or_default(),
        }
    }
}

/// A scan that can be resumed.
#[derive(Debug, clap::Args)]
pub(crate) struct ResumableScanArgs {
    #[command(flatten)]
    pub(crate) resume: ResumeArgs,
    #[command(flatten)]
    pub(crate) scan: ScanArgs,
}

/// Where to resume.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Scan")]
pub(crate) struct ResumeArgs {
    /// Resume an interrupted run: the token that it printed, or @FILE with that token
    #[arg(long, value_name = "TOKEN")]
    pub(crate) resume: Option<String>,
}
