//! `partita diff LEFT RIGHT`: the differences of two tables, row by row.

use super::{ReadArgs, TwoTablesCommand};
use crate::args::ResumeArgs;
use crate::args::connection::Connection;
use crate::prelude::*;
use crate::resume;
use crate::signals::{interruptible, stop_requested};
use clap::value_parser;
use partita_client::Value;
use partita_tools::scan::{Bounds, Lower, Order};
use partita_tools::source::EntitySource;
use partita_tools::transfer::{Diff, DiffCounts, Difference, Keys, PropertyDifference};
use partita_wire::table::push_value_text;
use serde::{Deserialize, Serialize};

const COMMAND: &str = "diff";
/// Columns of a difference, after the columns of the keys.
const COLUMNS: [&str; 6] = [
    "difference",
    "property",
    "left",
    "left_type",
    "right",
    "right_type",
];

/// Show the differences of two tables, row by row: exit code 1 if there are any
#[derive(clap::Args)]
#[command(
    after_help = "Timestamps and ETags are not compared: they always differ. Numbers of different types differ. Filter, properties and bounds apply to both tables."
)]
pub(crate) struct DiffCommand {
    /// Table name
    left: String,
    /// Table to compare it with
    right: String,
    /// Stop after this many rows that differ
    #[arg(long, short = 'n', value_name = "N", value_parser = value_parser!(u64).range(1..))]
    limit: Option<u64>,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    resume: ResumeArgs,
    #[command(flatten)]
    read: ReadArgs,
}

/// The position of an interrupted comparison.
#[derive(Debug, Serialize, Deserialize)]
struct DiffResume {
    job: DiffJob,
    reached: Keys,
    counts: DiffCounts,
}

/// The tables and rows of a comparison. A resume token is valid only for the comparison that printed it. The job has
/// accounts instead of endpoints, because a server may have several endpoints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct DiffJob {
    accounts: [String; 2],
    tables: [String; 2],
    filter: Option<String>,
    /// Names of the compared properties, sorted; `None` for all properties.
    select: Option<Vec<String>>,
    bounds: Bounds,
}

type TableDiff = Diff<EntitySource, EntitySource>;

impl TwoTablesCommand for DiffCommand {
    async fn run(self, first: Connection, second: Connection, progress: Progress) -> CommandResult {
        let job = self.job([&first, &second]);
        let resumed = self.resumed(&job)?;
        let bounds = remaining(self.read.scan.bounds(), resumed.as_ref());
        let (left, right) = tokio::try_join!(
            self.read.reader(&first, &self.left, bounds.clone()),
            self.read.reader(&second, &self.right, bounds),
        )?;
        let left = left.scan(Order::Table, None)?;
        let mut diff = Diff::new(left, right.scan(Order::Table, None)?);
        let mut before = DiffCounts::default();
        if let Some(resumed) = resumed {
            diff = diff.behind(&resumed.reached);
            before = resumed.counts;
        }
        let columns = COLUMNS.map(str::to_owned);
        let mut output = Output::stdout(self.output, Shape::Rows, Some(&columns));
        progress.start_bar("rows compared", self.read.scan.total, true);
        let ended = compare(&mut diff, &progress, before, self.limit, &mut output).await;
        progress.bar.hide();
        let counts = sum(before, diff.counts());
        match ended {
            Ok(is_all) => {
                output.finish()?;
                let outcome = match rows(counts) {
                    (_, 0) => Outcome::Done,
                    _ => Outcome::Differs,
                };
                progress.finish(&summary(counts, is_all), outcome)
            }
            Err(error) => {
                output.finish_after(&error)?;
                print_token(&error, job, diff.reached(), counts);
                Err(error)
            }
        }
    }
}

impl DiffCommand {
    fn job(&self, sides: [&Connection; 2]) -> DiffJob {
        let mut select = self.read.select.names();
        if let Some(names) = &mut select {
            names.sort();
        }
        DiffJob {
            accounts: sides.map(|side| side.service.endpoint().account().to_owned()),
            tables: [self.left.clone(), self.right.clone()],
            filter: self.read.filter.clone(),
            select,
            bounds: self.read.scan.bounds(),
        }
    }

    /// The position of `--resume`.
    fn resumed(&self, job: &DiffJob) -> Result<Option<DiffResume>, CommandError> {
        let Some(token) = self.resume.resume.as_deref() else {
            return Ok(None);
        };
        let resumed: DiffResume = resume::read_token(token, COMMAND)?;
        match resumed.job.difference(job) {
            Some(why) => Err(CommandError::usage(format!(
                "the resume token is from {why}"
            ))),
            None => Ok(Some(resumed)),
        }
    }
}

/// The part of the bounds that begins at a position.
fn remaining(bounds: Bounds, resumed: Option<&DiffResume>) -> Bounds {
    let lower = resumed.map(|resumed| Lower::From(resumed.reached.partition_key.clone()));
    Bounds {
        lower: bounds.lower.max(lower.unwrap_or_default()),
        ..bounds
    }
}

/// Writes the differences; returns whether all rows were compared.
async fn compare(
    diff: &mut TableDiff,
    progress: &Progress,
    before: DiffCounts,
    limit: Option<u64>,
    output: &mut Output,
) -> Result<bool, CommandError> {
    let mut stop = std::pin::pin!(stop_requested());
    let mut written = 0;
    loop {
        let next = interruptible(&mut stop, diff.next()).await?;
        let Some(difference) = next.transpose()? else {
            return Ok(true);
        };
        write_difference(&difference, output)?;
        let (compared, _) = rows(sum(before, diff.counts()));
        progress.bar.set_position(compared);
        written += 1;
        if limit == Some(written) {
            return Ok(false);
        }
    }
}

fn write_difference(difference: &Difference, output: &mut Output) -> Result<(), CommandError> {
    let (row, what) = match difference {
        Difference::LeftOnly(row) => (row, "left only"),
        Difference::RightOnly(row) => (row, "right only"),
        Difference::Differs {
            partition_key,
            row_key,
            properties,
        } => {
            let mut properties = properties.iter();
            return properties.try_for_each(|property| {
                write_property((partition_key, row_key), property, output)
            });
        }
    };
    output.record(&record((row.partition_key(), row.row_key()), what))
}

fn record<'a>(keys: (&'a str, &'a str), what: &'a str) -> Vec<(&'a str, Field<'a>)> {
    vec![
        ("PartitionKey", Field::text(keys.0)),
        ("RowKey", Field::text(keys.1)),
        ("difference", Field::text(what)),
    ]
}

fn write_property(
    keys: (&str, &str),
    property: &PropertyDifference,
    output: &mut Output,
) -> Result<(), CommandError> {
    let text = |value: &Option<Value>| {
        value.as_ref().map(|value| {
            let mut text = String::new();
            push_value_text(value.as_ref(), &mut text);
            (text, value.edm_type().name())
        })
    };
    let sides = [text(&property.left), text(&property.right)];
    let mut fields = record(keys, "property");
    fields.push(("property", Field::text(&property.name)));
    let names = [("left", "left_type"), ("right", "right_type")];
    for ((name, type_name), side) in names.into_iter().zip(&sides) {
        if let Some((text, edm)) = side {
            fields.push((name, Field::text(text)));
            fields.push((type_name, Field::text(edm)));
        }
    }
    output.record(&fields)
}

fn sum(a: DiffCounts, b: DiffCounts) -> DiffCounts {
    DiffCounts {
        same: a.same + b.same,
        differ: a.differ + b.differ,
        left_only: a.left_only + b.left_only,
        right_only: a.right_only + b.right_only,
    }
}

/// The number of all rows, and of those that differ.
fn rows(counts: DiffCounts) -> (u64, u64) {
    let different = counts.differ + counts.left_only + counts.right_only;
    (counts.same + different, different)
}

fn summary(counts: DiffCounts, is_all: bool) -> String {
    let so_far = if is_all { "" } else { " so far" };
    format!(
        "{} the same{so_far}, {} differ, {} left only, {} right only",
        many(counts.same, "row", "rows"),
        count(counts.differ),
        count(counts.left_only),
        count(counts.right_only),
    )
}

fn print_token(error: &CommandError, job: DiffJob, reached: Option<Keys>, counts: DiffCounts) {
    if !matches!(error, CommandError::Interrupted | CommandError::Diff(_)) {
        return;
    }
    match reached {
        Some(reached) => {
            let position = DiffResume {
                job,
                reached,
                counts,
            };
            resume::print_token(COMMAND, &position);
        }
        None if matches!(error, CommandError::Interrupted) => {
            message("nothing was compared yet, so there is nothing to resume");
        }
        None => {}
    }
}

impl DiffJob {
    /// What this comparison, from a resume token, compares; `None` if `other` compares the same and can resume from the
    /// token.
    fn difference(&self, other: &Self) -> Option<String> {
        let mut tables = self.tables.iter().zip(&other.tables);
        if !tables.all(|(a, b)| a.eq_ignore_ascii_case(b)) {
            let [left, right] = &self.tables;
            return Some(format!("tables {left} and {right}"));
        }
        if self.accounts != other.accounts {
            let [left, right] = &self.accounts;
            return Some(format!("tables of accounts {left} and {right}"));
        }
        let is_same = (&self.filter, &self.select, &self.bounds)
            == (&other.filter, &other.select, &other.bounds);
        let why = "a comparison with another filter, other properties or other bounds";
        (!is_same).then(|| why.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_belongs_to_one_comparison() {
        let texts = |texts: [&str; 2]| texts.map(str::to_owned);
        let job = DiffJob {
            accounts: texts(["a", "b"]),
            tables: texts(["Left", "Right"]),
            filter: None,
            select: None,
            bounds: Bounds::default(),
        };
        let refused = |change: fn(&mut DiffJob)| {
            let mut other = job.clone();
            change(&mut other);
            job.difference(&other)
        };
        assert_eq!(refused(|_| {}), None);
        assert_eq!(refused(|other| other.tables[0] = "left".to_owned()), None);
        let tables = refused(|other| other.tables.swap(0, 1)).unwrap();
        assert_eq!(tables, "tables Left and Right");
        let accounts = refused(|other| other.accounts.swap(0, 1)).unwrap();
        assert_eq!(accounts, "tables of accounts a and b");
        let changes: [fn(&mut DiffJob); 3] = [
            |other| other.filter = Some("N eq 1".to_owned()),
            |other| other.select = Some(vec!["N".to_owned()]),
            |other| other.bounds.lower = Lower::From("p".to_owned()),
        ];
        for change in changes {
            assert!(refused(change).unwrap().contains("another filter"));
        }
    }
}
