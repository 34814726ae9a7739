//! The flags of a run, and what they say.

use crate::args::connection;
use crate::args::{self, switch, text};
use crate::error::Failure;
use crate::output;
use crate::units::{SPAN_HELP, span};
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgMatches, Command, value_parser};
use partita_tools::stress::{Mix, PARTITIONS_MAX, Pattern, Schedule, Targets};
use std::path::PathBuf;
use std::time::Duration;

const KEYS: &str = "Keys and rows";
const LOAD: &str = "Load";
const RESULT: &str = "Verdict and report";
/// A run without `--duration` and `--operations` takes this long.
const DURATION: Duration = Duration::from_secs(30);
/// Workers unless told otherwise: of a closed loop, and at a rate, where they only bound what is under way.
const WORKERS: [u64; 2] = [16, 1024];
/// Longest text of a property, in UTF-16 code units (protocol: "Understanding the Table service data model").
const ROW_BYTES_MAX: i64 = 32_768;

/// Where the PartitionKeys of `--pattern sampled` come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SampleFrom {
    File(PathBuf),
    Table(String),
}

/// What a run does, as the flags say it.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    pub(crate) pattern: Pattern,
    pub(crate) sample: Option<SampleFrom>,
    pub(crate) seed: u64,
    pub(crate) rows: u64,
    pub(crate) row_bytes: usize,
    pub(crate) mix: Mix,
    pub(crate) batch_rows: u64,
    pub(crate) range_rows: u32,
    pub(crate) aim: Option<String>,
    pub(crate) schedule: Schedule,
    pub(crate) workers: u64,
    pub(crate) duration: Option<Duration>,
    pub(crate) operations: Option<u64>,
    pub(crate) targets: Targets,
}

/// Adds the flags.
pub(crate) fn add(command: Command) -> Command {
    let command = command.arg(args::table());
    connection::add(result(load(keys(command))).arg(output::argument()))
}

fn option(
    heading: &'static str,
    name: &'static str,
    value: &'static str,
    help: &'static str,
) -> Arg {
    Arg::new(name)
        .long(name)
        .value_name(value)
        .help(help)
        .help_heading(heading)
}

fn number(
    heading: &'static str,
    name: &'static str,
    help: &'static str,
    range: impl std::ops::RangeBounds<u64>,
) -> Arg {
    option(heading, name, "N", help).value_parser(value_parser!(u64).range(range))
}

fn keys(command: Command) -> Command {
    let patterns = ["single", "uniform", "zipf", "append", "prepend", "sampled"];
    let pattern = option(
        KEYS,
        "pattern",
        "HOW",
        "PartitionKeys of the rows: one for all, many alike, many of which few are wanted most, ever greater ones, ever smaller ones, or those of --keys [default: uniform]",
    );
    let keys = option(
        KEYS,
        "keys",
        "FILE",
        "PartitionKeys to sample: a line each, or rows as JSON lines",
    )
    .value_parser(value_parser!(PathBuf));
    command
        .arg(pattern.value_parser(PossibleValuesParser::new(patterns)))
        .arg(number(KEYS, "partitions", "Partitions of uniform and zipf, 1 to 1,000,000,000", 1..=PARTITIONS_MAX).default_value("100"))
        .arg(option(KEYS, "exponent", "E", "How uneven zipf is, above 0: at 1 the second partition is wanted half as often as the first").default_value("0.99"))
        .arg(number(KEYS, "partition-rows", "Rows of each partition of append and prepend", 1..).default_value("100"))
        .arg(keys.conflicts_with("keys-from"))
        .arg(option(KEYS, "keys-from", "TABLE", "Table of the same account whose PartitionKeys to sample"))
        .arg(number(KEYS, "rows", "Rows to load before the run, up to 1,000,000,000", 0..=1_000_000_000).default_value("10000"))
        .arg(number(KEYS, "row-bytes", "Bytes of text in a row, 0 to 32,768", 0..=ROW_BYTES_MAX as u64).default_value("1024"))
        .arg(number(KEYS, "seed", "What keys and operations follow from: the same seed, the same ones", ..).default_value("1"))
        .arg(switch("use-existing", "Use the table though it is there: rows are added to it, and stay").help_heading(KEYS))
        .arg(switch("keep", "Keep the table that was made for the run").help_heading(KEYS))
}

fn load(command: Command) -> Command {
    command
        .arg(option(LOAD, "mix", "MIX", "Operations by weight, of get, insert, upsert, batch, row-range, partition-range, scan").default_value("get=80,insert=20"))
        .arg(number(LOAD, "batch-rows", "Rows of a batch, 1 to 100", 1..=100).default_value("100"))
        .arg(number(LOAD, "range-rows", "Rows of a row-range or partition-range at most, 1 to 1,000", 1..=1000).default_value("100"))
        .arg(option(LOAD, "aim", "KEY", "Work on this partition only"))
        .arg(option(LOAD, "rate", "R", "Operations a second, whatever becomes of them [default: closed loop, the next when the last has ended]"))
        .arg(option(LOAD, "ramp", "TIME", "Until the rate, or all workers, are reached, such as 10s").default_value("0s"))
        .arg(number(LOAD, "ramp-steps", "Reach the rate in so many equal steps [default: steadily]", 1..=1000).requires("rate"))
        .arg(number(LOAD, "workers", "Operations at the same time at most, 1 to 2,048 [default: 16; 1,024 at a rate]", 1..=2048))
        .arg(option(LOAD, "duration", "TIME", "How long, such as 30s or 10m [default: 30s unless --operations]"))
        .arg(number(LOAD, "operations", "How many operations at most", 1..))
}

fn result(command: Command) -> Command {
    let target = option(
        RESULT,
        "target",
        "WHOSE",
        "What to judge by: azure (2,000 entities/s a partition, 20,000 an account), classic (500, 5,000), or off",
    );
    command
        .arg(
            target
                .value_parser(PossibleValuesParser::new(["azure", "classic", "off"]))
                .default_value("azure"),
        )
        .arg(number(
            RESULT,
            "target-partition",
            "Entities a second that a partition is promised, in place of that",
            1..,
        ))
        .arg(number(
            RESULT,
            "target-account",
            "Entities a second that an account is promised, in place of that",
            1..,
        ))
        .arg(
            option(
                RESULT,
                "report",
                "FILE",
                "Write the report there, JSON, for compare and page",
            )
            .value_parser(value_parser!(PathBuf)),
        )
        .arg(
            option(RESULT, "html", "FILE", "Write a page with plots there")
                .value_parser(value_parser!(PathBuf)),
        )
        .arg(
            args::yes()
                .help("Overwrite files that are there")
                .help_heading(RESULT),
        )
}

impl Wanted {
    pub(crate) fn of(matches: &ArgMatches) -> Result<Self, Failure> {
        let whole = |name| matches.get_one::<u64>(name).copied();
        let given = |name| whole(name).unwrap_or_default();
        let (pattern, sample) = pattern(matches)?;
        let schedule = schedule(matches)?;
        let at_a_rate = matches!(schedule, Schedule::Rate { .. });
        let operations = whole("operations");
        let duration = text(matches, "duration")
            .map(|text| span_above_zero("duration", text))
            .transpose()?;
        let mix: Mix = text(matches, "mix")
            .unwrap_or_default()
            .parse()
            .map_err(|error| Failure::usage(format!("--mix: {error}")))?;
        let wanted = Self {
            pattern,
            sample,
            seed: given("seed"),
            rows: given("rows"),
            row_bytes: usize::try_from(given("row-bytes")).unwrap_or_default(),
            mix,
            batch_rows: given("batch-rows"),
            range_rows: u32::try_from(given("range-rows")).unwrap_or(1000),
            aim: text(matches, "aim").map(str::to_owned),
            schedule,
            workers: whole("workers").unwrap_or(WORKERS[usize::from(at_a_rate)]),
            duration: duration.or((operations.is_none()).then_some(DURATION)),
            operations,
            targets: targets(matches),
        };
        wanted.check()
    }

    fn check(self) -> Result<Self, Failure> {
        let writes_new = self.mix.has(|kind| !kind.needs_rows());
        if self.rows == 0 && !writes_new {
            return Err(Failure::usage(
                "without --rows there is nothing to read: the mix has no insert and no batch",
            ));
        }
        let is_wide = |kind| {
            matches!(
                kind,
                partita_tools::stress::Kind::PartitionRange | partita_tools::stress::Kind::Scan
            )
        };
        if self.aim.is_some() && self.mix.has(is_wide) {
            return Err(Failure::usage(
                "--aim is for operations on one partition, partition-range and scan are not",
            ));
        }
        Ok(self)
    }
}

fn pattern(matches: &ArgMatches) -> Result<(Pattern, Option<SampleFrom>), Failure> {
    let whole = |name| matches.get_one::<u64>(name).copied().unwrap_or(1);
    let file = matches
        .get_one::<PathBuf>("keys")
        .cloned()
        .map(SampleFrom::File);
    let from = file
        .or_else(|| text(matches, "keys-from").map(|table| SampleFrom::Table(table.to_owned())));
    let default = if from.is_some() { "sampled" } else { "uniform" };
    let name = text(matches, "pattern").unwrap_or(default);
    if (name == "sampled") != from.is_some() {
        return Err(Failure::usage(
            "--pattern sampled takes its keys from --keys or --keys-from, and the others have their own",
        ));
    }
    let pattern = match name {
        "single" => Pattern::Single,
        "zipf" => Pattern::Zipf {
            partitions: whole("partitions"),
            exponent: above_zero(matches, "exponent")?.unwrap_or(1.0),
        },
        "append" => Pattern::Append {
            partition_rows: whole("partition-rows"),
        },
        "prepend" => Pattern::Prepend {
            partition_rows: whole("partition-rows"),
        },
        "sampled" => Pattern::Sampled {
            source: String::new(),
            keys: 0,
        },
        _ => Pattern::Uniform {
            partitions: whole("partitions"),
        },
    };
    Ok((pattern, from))
}

fn schedule(matches: &ArgMatches) -> Result<Schedule, Failure> {
    let ramp_seconds = span(text(matches, "ramp").unwrap_or("0s"))?.as_secs_f64();
    let steps = matches.get_one::<u64>("ramp-steps").copied();
    Ok(match above_zero(matches, "rate")? {
        None => Schedule::Closed { ramp_seconds },
        Some(per_second) => Schedule::Rate {
            per_second,
            ramp_seconds,
            steps: steps
                .and_then(|steps| u32::try_from(steps).ok())
                .unwrap_or(0),
        },
    })
}

fn targets(matches: &ArgMatches) -> Targets {
    let preset = match text(matches, "target") {
        Some("classic") => Targets::CLASSIC,
        Some("off") => Targets::OFF,
        _ => Targets::AZURE,
    };
    let own = |name| matches.get_one::<u64>(name).map(|&target| target as f64);
    Targets {
        partition: own("target-partition").or(preset.partition),
        account: own("target-account").or(preset.account),
    }
}

/// A number above zero, with a fraction if need be.
fn above_zero(matches: &ArgMatches, name: &str) -> Result<Option<f64>, Failure> {
    let Some(text) = text(matches, name) else {
        return Ok(None);
    };
    let number: Option<f64> = text.parse().ok();
    let number = number.filter(|number| *number > 0.0 && *number <= 1e6);
    number.map(Some).ok_or_else(|| {
        Failure::usage(format!(
            "--{name}: {text:?} is no number above 0 and up to 1,000,000"
        ))
    })
}

fn span_above_zero(name: &str, text: &str) -> Result<Duration, Failure> {
    let span = span(text)?;
    if span.is_zero() {
        return Err(Failure::usage(format!(
            "--{name}: a time above 0, {SPAN_HELP}"
        )));
    }
    Ok(span)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(flags: &str) -> Result<Wanted, String> {
        let command = add(Command::new("stress"));
        let words = ["stress", "table"]
            .into_iter()
            .chain(flags.split_whitespace());
        let matches = command
            .try_get_matches_from(words)
            .map_err(|error| error.to_string())?;
        Wanted::of(&matches).map_err(|failure| failure.chain())
    }

    #[test]
    fn without_flags_it_is_half_a_minute_in_a_closed_loop() {
        let wanted = wanted("").unwrap();
        assert_eq!(wanted.pattern, Pattern::Uniform { partitions: 100 });
        assert_eq!(wanted.schedule, Schedule::Closed { ramp_seconds: 0.0 });
        assert_eq!(
            (wanted.duration, wanted.operations, wanted.workers),
            (Some(DURATION), None, 16)
        );
        assert_eq!(wanted.targets, Targets::AZURE);
    }

    #[test]
    fn flags_are_settings() {
        let of = |flags| wanted(flags).unwrap();
        let zipf = of("--pattern zipf --partitions 7 --exponent 1.5 --operations 50");
        assert_eq!(
            zipf.pattern,
            Pattern::Zipf {
                partitions: 7,
                exponent: 1.5
            }
        );
        assert_eq!((zipf.duration, zipf.operations), (None, Some(50)));
        let rate = of("--rate 2500.5 --ramp 1m --ramp-steps 4 --target classic --target-account 9");
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
        let sampled = of("--keys-from people --workers 3");
        assert_eq!(sampled.sample, Some(SampleFrom::Table("people".to_owned())));
        assert!(matches!(sampled.pattern, Pattern::Sampled { .. }));
        assert_eq!(
            of("--rows 0 --mix insert --duration 2h").duration,
            Some(Duration::from_secs(7_200))
        );
    }

    #[test]
    fn what_makes_no_sense_is_said() {
        for (flags, expected) in [
            ("--rows 0 --mix get", "nothing to read"),
            (
                "--aim x --mix get,scan",
                "--aim is for operations on one partition",
            ),
            ("--pattern sampled", "--keys or --keys-from"),
            ("--pattern single --keys list", "--keys or --keys-from"),
            ("--rate 0", "no number above 0"),
            ("--rate inf", "no number above 0"),
            (
                "--pattern zipf --exponent nan",
                "--exponent: \"nan\" is no number",
            ),
            ("--ramp-steps 3", "--rate"),
            ("--duration 0s", "a time above 0"),
            ("--mix eat", "--mix: \"eat\" is no operation"),
            ("--batch-rows 101", "101 is not in"),
            ("--row-bytes 40000", "40000 is not in"),
        ] {
            let refused = wanted(flags).unwrap_err();
            assert!(refused.contains(expected), "{flags}: {refused}");
        }
    }
}
