//! The flags of a run, and the settings that they describe.

use crate::args::{ConnectionArgs, choice};
use crate::prelude::*;
use crate::units::{parse_duration, parse_duration_above_zero, size_within};
use clap::builder::TypedValueParser;
use clap::{ValueEnum, value_parser};
use partita_client::Guid;
use partita_tools::stress::{Kind, Mix, PARTITIONS_MAX, Pattern, Schedule, Settings, Targets};
use std::path::PathBuf;
use std::time::Duration;

/// The length of a run without `--duration` and `--operations`.
const DURATION: Duration = Duration::from_secs(30);
/// Default number of workers of a closed loop.
const WORKERS_CLOSED: u64 = 16;
/// Default number of workers with `--rate`, where the number only bounds the open requests.
const WORKERS_WITH_RATE: u64 = 1024;
/// Maximum of `--row-bytes`. The text of a row is one property, which has at most this many UTF-16 code units
/// (protocol: "Understanding the Table service data model").
const ROW_BYTES_MAX: u64 = 32_768;

/// Put load on a table, and show whether its keys would be throttled and what would help
// The run is optional, because `stress` also has subcommands. This group tells clap that TABLE alone selects the run.
#[derive(clap::Args)]
#[group(args = ["table"])]
#[command(
    after_help = "Exit code 0: within the targets. 1: over them, or attempts were refused, or operations failed. 2: there was no run.\nCost on Azure: a transaction for each operation and for each 100 rows that are loaded."
)]
pub(crate) struct RunCommand {
    /// Table name
    pub(super) table: String,
    #[command(flatten)]
    pub(super) keys: KeyArgs,
    #[command(flatten)]
    pub(super) load: LoadArgs,
    #[command(flatten)]
    pub(super) result: ResultArgs,
    #[command(flatten)]
    pub(super) output: OutputArgs,
    #[command(flatten)]
    pub(super) connection: ConnectionArgs,
}

/// Flags for the keys and rows of the table.
#[derive(clap::Args)]
#[command(next_help_heading = "Keys and rows")]
pub(super) struct KeyArgs {
    /// PartitionKeys: single (one for all rows), uniform, zipf (a few have most rows), append (increasing), prepend
    /// (decreasing), or sampled (from --keys) [default: uniform]
    #[arg(long, value_name = "HOW", value_enum)]
    pattern: Option<PatternArg>,
    /// Partitions of uniform and zipf, 1 to 1,000,000,000
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..=PARTITIONS_MAX), default_value_t = 100)]
    partitions: u64,
    /// Skew of zipf, above 0: at 1 the second partition is used half as often as the first
    #[arg(long, value_name = "E", value_parser = parse_above_zero, default_value = "0.99")]
    exponent: f64,
    /// Rows of each partition of append and prepend
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..), default_value_t = 100)]
    partition_rows: u64,
    /// File of PartitionKeys to sample: one a line, or rows as JSON lines
    #[arg(long, value_name = "FILE", conflicts_with = "keys_from")]
    keys: Option<PathBuf>,
    /// Table of the same account whose PartitionKeys to sample
    #[arg(long, value_name = "TABLE")]
    keys_from: Option<String>,
    /// Rows to load before the run, up to 1,000,000,000
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(0..=1_000_000_000), default_value_t = 10_000)]
    rows: u64,
    /// Text in a row, up to 32KiB
    #[arg(long, value_name = "SIZE", value_parser = size_within(0..=ROW_BYTES_MAX), default_value = "1KiB")]
    row_bytes: u64,
    /// Seed: the same seed gives the same keys and operations
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Use an existing table: rows are added to it, and stay
    #[arg(long)]
    pub(super) use_existing: bool,
    /// Keep the table that was created for the run
    #[arg(long)]
    pub(super) keep: bool,
}

/// Flags for the load on the table.
#[derive(clap::Args)]
#[command(next_help_heading = "Load")]
pub(super) struct LoadArgs {
    /// Operations by weight: get, insert, upsert, batch, row-range, partition-range, scan
    #[arg(long, value_name = "MIX", value_parser = |text: &str| text.parse::<Mix>(), default_value = "get=80,insert=20")]
    mix: Mix,
    /// Rows per batch, 1 to 100
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..=100), default_value_t = 100)]
    batch_rows: u64,
    /// Maximum number of rows of a row-range or partition-range, 1 to 1,000
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=1000), default_value_t = 100)]
    range_rows: u32,
    /// Use only this partition
    #[arg(long, value_name = "KEY")]
    aim: Option<String>,
    /// Operations a second, independent of how long each takes [default: closed loop: each worker starts one when its
    /// last has ended]
    #[arg(long, value_name = "R", value_parser = parse_above_zero)]
    rate: Option<f64>,
    /// Time in which the rate, or in a closed loop the number of workers, rises to its maximum, such as 10s
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "0s")]
    ramp: Duration,
    /// Reach the rate in this many equal steps [default: steadily]
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=1000), requires = "rate")]
    ramp_steps: Option<u32>,
    /// Maximum number of parallel operations, 1 to 2,048 [default: 16; with --rate 1,024]
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..=2048))]
    workers: Option<u64>,
    /// Length of the run, such as 30s or 10m [default: 30s unless --operations]
    #[arg(long, value_name = "TIME", value_parser = parse_duration_above_zero)]
    duration: Option<Duration>,
    /// Maximum number of operations
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..))]
    operations: Option<u64>,
}

/// How the run is judged and reported.
#[derive(clap::Args)]
#[command(next_help_heading = "Verdict and report")]
pub(super) struct ResultArgs {
    /// Targets to judge by: azure (2,000 entities/s per partition, 20,000 per account), classic (500, 5,000), or off
    #[arg(long, value_name = "WHOSE", value_parser = targets(), default_value = "azure")]
    target: Targets,
    /// Target of a partition in entities/s; overrides --target
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..))]
    target_partition: Option<u64>,
    /// Target of an account in entities/s; overrides --target
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..))]
    target_account: Option<u64>,
    /// Write the report to a file, JSON, for compare and page
    #[arg(long, value_name = "FILE")]
    pub(super) report: Option<PathBuf>,
    /// Write an HTML page with plots to a file
    #[arg(long, value_name = "FILE")]
    pub(super) html: Option<PathBuf>,
    #[command(flatten)]
    pub(super) confirm: ConfirmArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PatternArg {
    Single,
    Uniform,
    Zipf,
    Append,
    Prepend,
    Sampled,
}

fn targets() -> impl TypedValueParser<Value = Targets> {
    choice([
        ("azure", Targets::AZURE),
        ("classic", Targets::CLASSIC),
        ("off", Targets::OFF),
    ])
}

/// Where the PartitionKeys of `--pattern sampled` come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SampleSource {
    File(PathBuf),
    Table(String),
}

impl RunCommand {
    /// The settings of the run that the flags describe, and the source of `--pattern sampled`. The endpoint is not
    /// known yet.
    pub(super) fn settings(
        &self,
        run: Guid,
    ) -> Result<(Settings, Option<SampleSource>), CommandError> {
        let Self { keys, load, .. } = self;
        let (pattern, sample) = keys.pattern()?;
        let schedule = load.schedule();
        let workers = match schedule {
            Schedule::Closed { .. } => WORKERS_CLOSED,
            Schedule::Rate { .. } => WORKERS_WITH_RATE,
        };
        let default_duration = load.operations.is_none().then_some(DURATION);
        let duration = load.duration.or(default_duration);
        let settings = Settings {
            endpoint: String::new(),
            table: self.table.clone(),
            run: run.to_string(),
            pattern,
            seed: keys.seed,
            rows: keys.rows,
            row_bytes: keys.row_bytes,
            mix: load.mix.clone(),
            batch_rows: load.batch_rows,
            range_rows: load.range_rows.into(),
            aim: load.aim.clone(),
            schedule,
            workers: load.workers.unwrap_or(workers),
            duration_seconds: duration.map(|duration| duration.as_secs_f64()),
            operations: load.operations,
            retries: self.connection.retries,
            targets: self.result.targets(),
        };
        check(&settings)?;
        Ok((settings, sample))
    }
}

/// Refuses flags that contradict each other.
fn check(settings: &Settings) -> Result<(), CommandError> {
    let writes_new = settings.mix.has(|kind| !kind.needs_rows());
    if settings.rows == 0 && !writes_new {
        return Err(CommandError::usage(
            "nothing to read: --rows is 0, and the mix has no insert and no batch",
        ));
    }
    let is_wide = |kind| matches!(kind, Kind::PartitionRange | Kind::Scan);
    if settings.aim.is_some() && settings.mix.has(is_wide) {
        return Err(CommandError::usage(
            "--aim is for operations on one partition; partition-range and scan use several",
        ));
    }
    Ok(())
}

impl KeyArgs {
    fn pattern(&self) -> Result<(Pattern, Option<SampleSource>), CommandError> {
        let file = self.keys.clone().map(SampleSource::File);
        let table = self.keys_from.clone().map(SampleSource::Table);
        let sample = file.or(table);
        let default = match sample {
            Some(_) => PatternArg::Sampled,
            None => PatternArg::Uniform,
        };
        let pattern = self.pattern.unwrap_or(default);
        if (pattern == PatternArg::Sampled) != sample.is_some() {
            return Err(CommandError::usage(
                "--pattern sampled takes its keys from --keys or --keys-from; the other patterns make their own",
            ));
        }
        let pattern = match pattern {
            PatternArg::Single => Pattern::Single,
            PatternArg::Uniform => Pattern::Uniform {
                partitions: self.partitions,
            },
            PatternArg::Zipf => Pattern::Zipf {
                partitions: self.partitions,
                exponent: self.exponent,
            },
            PatternArg::Append => Pattern::Append {
                partition_rows: self.partition_rows,
            },
            PatternArg::Prepend => Pattern::Prepend {
                partition_rows: self.partition_rows,
            },
            PatternArg::Sampled => Pattern::Sampled {
                source: String::new(),
                keys: 0,
            },
        };
        Ok((pattern, sample))
    }
}

impl LoadArgs {
    fn schedule(&self) -> Schedule {
        let ramp_seconds = self.ramp.as_secs_f64();
        match self.rate {
            None => Schedule::Closed { ramp_seconds },
            Some(per_second) => Schedule::Rate {
                per_second,
                ramp_seconds,
                steps: self.ramp_steps.unwrap_or(0),
            },
        }
    }
}

impl ResultArgs {
    fn targets(&self) -> Targets {
        let own = |target: Option<u64>| target.map(|target| target as f64);
        Targets {
            partition: own(self.target_partition).or(self.target.partition),
            account: own(self.target_account).or(self.target.account),
        }
    }
}

/// Reads a number above zero.
fn parse_above_zero(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.parse().ok();
    let number = number.filter(|number| *number > 0.0 && *number <= 1e6);
    number.ok_or_else(|| format!("{text:?} is not a number above 0 and up to 1,000,000"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Stress {
        #[command(flatten)]
        run: RunCommand,
    }

    fn run(flags: &str) -> Result<(Settings, Option<SampleSource>), String> {
        let words = ["stress", "table"]
            .into_iter()
            .chain(flags.split_whitespace());
        let stress = Stress::try_parse_from(words).map_err(|error| error.to_string())?;
        let settings = stress.run.settings(Guid([0; 16]));
        settings.map_err(|error| error.chain())
    }

    fn settings(flags: &str) -> Settings {
        run(flags).unwrap().0
    }

    #[test]
    fn the_default_run_is_a_closed_loop_of_30_seconds() {
        let run = settings("");
        assert_eq!(run.pattern, Pattern::Uniform { partitions: 100 });
        assert_eq!(run.schedule, Schedule::Closed { ramp_seconds: 0.0 });
        assert_eq!(
            (run.duration_seconds, run.operations, run.workers),
            (Some(30.0), None, 16)
        );
        assert_eq!(run.targets, Targets::AZURE);
    }

    #[test]
    fn flags_describe_a_run() {
        let zipf = settings("--pattern zipf --partitions 7 --exponent 1.5 --operations 50");
        assert_eq!(
            zipf.pattern,
            Pattern::Zipf {
                partitions: 7,
                exponent: 1.5
            }
        );
        assert_eq!((zipf.duration_seconds, zipf.operations), (None, Some(50)));
        let rate =
            settings("--rate 2500.5 --ramp 1m --ramp-steps 4 --target classic --target-account 9");
        assert_eq!(
            rate.schedule,
            Schedule::Rate {
                per_second: 2500.5,
                ramp_seconds: 60.0,
                steps: 4
            }
        );
        assert_eq!(rate.workers, 1024);
        assert_eq!(
            rate.targets,
            Targets {
                partition: Some(500.0),
                account: Some(9.0)
            }
        );
        let (sampled, source) = run("--keys-from people --workers 3").unwrap();
        assert_eq!(source, Some(SampleSource::Table("people".to_owned())));
        assert!(matches!(sampled.pattern, Pattern::Sampled { .. }));
        let long = settings("--rows 0 --mix insert --duration 2h");
        assert_eq!(long.duration_seconds, Some(7_200.0));
    }

    #[test]
    fn contradictions_are_refused() {
        for (flags, expected) in [
            ("--rows 0 --mix get", "nothing to read"),
            (
                "--aim x --mix get,scan",
                "--aim is for operations on one partition",
            ),
            ("--pattern sampled", "--keys or --keys-from"),
            ("--pattern single --keys list", "--keys or --keys-from"),
            ("--rate 0", "not a number above 0"),
            ("--rate inf", "not a number above 0"),
            (
                "--pattern zipf --exponent nan",
                "\"nan\" is not a number above 0",
            ),
            ("--ramp-steps 3", "--rate"),
            ("--duration 0s", "a duration above 0"),
            ("--mix eat", "unknown operation \"eat\""),
            ("--batch-rows 101", "101 is not in"),
            ("--row-bytes 40000", "from 0 B to 32.0 KiB"),
        ] {
            let refused = run(flags).map(|_| ()).unwrap_err();
            assert!(refused.contains(expected), "{flags}: {refused}");
        }
    }
}
