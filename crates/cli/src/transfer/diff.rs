//! `partita diff LEFT RIGHT`: what two tables differ in.

use super::{reader, table};
use crate::args::connection::{self, Connection};
use crate::args::{self, bounds, required, selected, text};
use crate::error::{End, Failure};
use crate::output::{self, Output, Shape, Shown};
use crate::progress::{Talk, count, many};
use crate::resume;
use crate::scan_session::signal;
use clap::{Arg, ArgMatches, Command, value_parser};
use partita_client::{Value, ValueRef};
use partita_tools::scan::{Bounds, Lower, Order};
use partita_tools::transfer::{
    Diff, DiffCounts, Difference, Keys, PropertyDifference, TableSource,
};
use partita_wire::table::push_value_text;
use serde::{Deserialize, Serialize};

const VERB: &str = "diff";
/// What a difference is made of, in forms with columns.
const COLUMNS: [&str; 6] = [
    "Difference",
    "Property",
    "Left",
    "LeftType",
    "Right",
    "RightType",
];

pub(crate) fn command() -> Command {
    let limit = Arg::new("limit")
        .long("limit")
        .short('n')
        .value_name("N")
        .value_parser(value_parser!(u64).range(1..))
        .help("Stop after so many rows that differ");
    let command = Command::new(VERB)
        .about("Tell what two tables differ in, row by row: exit code 1 if they do")
        .arg(table("left", "LEFT", "Name of a table"))
        .arg(table(
            "right",
            "RIGHT",
            "Name of the table to compare it with",
        ))
        .arg(limit)
        .arg(output::argument())
        .arg(args::resume());
    connection::add_second(super::reading(command)).after_help(
        "Timestamps and ETags are not compared: no two tables share them. A number of another type is another value.\nFilter, properties and bounds are those of both tables.",
    )
}

/// Where an interrupted comparison stands.
#[derive(Debug, Serialize, Deserialize)]
struct Stand {
    job: Job,
    reached: Keys,
    counts: DiffCounts,
}

/// What is compared. The counts of one job mean nothing to another. Accounts stand for the endpoints: a server is reached at many.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Job {
    accounts: [String; 2],
    tables: [String; 2],
    filter: Option<String>,
    /// In order; none for all properties.
    select: Option<Vec<String>>,
    bounds: Bounds,
}

type Tables = Diff<TableSource, TableSource>;

pub(crate) async fn run(matches: &ArgMatches) -> Result<End, Failure> {
    let left = Connection::of(matches)?;
    let right = left.second(matches)?;
    let names = [required(matches, "left")?, required(matches, "right")?];
    let job = Job::of(matches, [&left, &right], names);
    let stand = stand(matches, &job)?;
    let mut talk = Talk::new(&left);
    let bounds = within(bounds(matches), stand.as_ref());
    let readers = tokio::try_join!(
        reader(matches, &left, names[0], bounds.clone()),
        reader(matches, &right, names[1], bounds),
    );
    let (left, right) = readers?;
    let scan = (
        left.scan(Order::Table, None)?,
        right.scan(Order::Table, None)?,
    );
    let mut diff = Diff::new(scan.0, scan.1);
    let mut before = DiffCounts::default();
    if let Some(Stand {
        reached, counts, ..
    }) = stand
    {
        diff = diff.behind(&reached);
        before = counts;
    }
    let columns = COLUMNS.map(str::to_owned);
    let mut output = Output::of(matches, Shape::Rows, Some(&columns));
    talk.show_progress("rows compared", args::total(matches), true);
    let limit = matches.get_one::<u64>("limit").copied();
    let ended = compare(&mut diff, &talk, before, limit, &mut output).await;
    talk.hide_progress();
    let counts = sum(before, diff.counts());
    match ended {
        Ok(is_all) => {
            output.end()?;
            end(talk, counts, is_all);
        }
        Err(failure) => {
            if !matches!(failure, Failure::Output(_)) {
                output.end()?;
            }
            print_token(&failure, job, diff.reached(), counts);
            return Err(failure);
        }
    }
    let is_same = counts.differ + counts.left_only + counts.right_only == 0;
    Ok(if is_same { End::Done } else { End::Differs })
}

/// What is left of the bounds.
fn within(bounds: Bounds, stand: Option<&Stand>) -> Bounds {
    let lower = stand.map(|stand| Lower::From(stand.reached.partition_key.clone()));
    Bounds {
        lower: bounds.lower.max(lower.unwrap_or_default()),
        ..bounds
    }
}

/// Shows the differences. Whether all rows were compared.
async fn compare(
    diff: &mut Tables,
    talk: &Talk,
    before: DiffCounts,
    limit: Option<u64>,
    output: &mut Output,
) -> Result<bool, Failure> {
    let mut stop = std::pin::pin!(signal());
    let mut shown = 0;
    loop {
        let next = tokio::select! {
            biased;
            () = &mut stop => return Err(Failure::Interrupted),
            next = diff.next() => next,
        };
        let Some(difference) = next.transpose()? else {
            return Ok(true);
        };
        show(&difference, output)?;
        talk.progress(rows(sum(before, diff.counts())));
        shown += 1;
        if limit == Some(shown) {
            return Ok(false);
        }
    }
}

fn show(difference: &Difference, output: &mut Output) -> Result<(), Failure> {
    let (keys, what) = match difference {
        Difference::LeftOnly(row) => ((row.partition_key(), row.row_key()), "left only"),
        Difference::RightOnly(row) => ((row.partition_key(), row.row_key()), "right only"),
        Difference::Differs {
            partition_key,
            row_key,
            properties,
        } => {
            for property in properties {
                show_property((partition_key, row_key), property, output)?;
            }
            return Ok(());
        }
    };
    output.row(&Shown::Record(&record(keys, what)))
}

fn record<'a>(keys: (&'a str, &'a str), what: &'a str) -> Vec<(&'a str, ValueRef<'a>)> {
    vec![
        ("PartitionKey", ValueRef::String(keys.0)),
        ("RowKey", ValueRef::String(keys.1)),
        ("Difference", ValueRef::String(what)),
    ]
}

fn show_property(
    keys: (&str, &str),
    property: &PropertyDifference,
    output: &mut Output,
) -> Result<(), Failure> {
    let text = |value: &Option<Value>| {
        value.as_ref().map(|value| {
            let mut text = String::new();
            push_value_text(value.as_ref(), &mut text);
            (text, value.edm_type().name())
        })
    };
    let sides = [text(&property.left), text(&property.right)];
    let mut fields = record(keys, "property");
    fields.push(("Property", ValueRef::String(&property.name)));
    let names = [("Left", "LeftType"), ("Right", "RightType")];
    for ((name, type_name), side) in names.into_iter().zip(&sides) {
        if let Some((text, edm)) = side {
            fields.push((name, ValueRef::String(text)));
            fields.push((type_name, ValueRef::String(edm)));
        }
    }
    output.row(&Shown::Record(&fields))
}

fn sum(a: DiffCounts, b: DiffCounts) -> DiffCounts {
    DiffCounts {
        same: a.same + b.same,
        differ: a.differ + b.differ,
        left_only: a.left_only + b.left_only,
        right_only: a.right_only + b.right_only,
    }
}

fn rows(counts: DiffCounts) -> u64 {
    let DiffCounts {
        same,
        differ,
        left_only,
        right_only,
    } = counts;
    same + differ + left_only + right_only
}

fn end(talk: Talk, counts: DiffCounts, is_all: bool) {
    let DiffCounts {
        same,
        differ,
        left_only,
        right_only,
    } = counts;
    let so_far = if is_all { "" } else { " so far" };
    talk.end(&format!(
        "{} the same{so_far}, {} differ, {} left only, {} right only",
        many(same, "row", "rows"),
        count(differ),
        count(left_only),
        count(right_only),
    ));
}

fn print_token(failure: &Failure, job: Job, reached: Option<Keys>, counts: DiffCounts) {
    if !matches!(failure, Failure::Interrupted | Failure::Scan(_)) {
        return;
    }
    match reached {
        Some(reached) => {
            let stand = Stand {
                job,
                reached,
                counts,
            };
            resume::print(VERB, &stand);
        }
        None => crate::progress::say("nothing was compared yet"),
    }
}

/// Where `--resume` says that an interrupted comparison stands.
fn stand(matches: &ArgMatches, job: &Job) -> Result<Option<Stand>, Failure> {
    let Some(token) = args::text(matches, "resume") else {
        return Ok(None);
    };
    let stand: Stand = resume::read(token, VERB)?;
    match stand.job.refuses(job) {
        Some(why) => Err(Failure::usage(format!("the resume token is from {why}"))),
        None => Ok(Some(stand)),
    }
}

impl Job {
    /// What the flags say.
    fn of(matches: &ArgMatches, sides: [&Connection; 2], tables: [&str; 2]) -> Self {
        let mut select = selected(matches);
        if let Some(names) = &mut select {
            names.sort();
        }
        Self {
            accounts: sides.map(|side| side.service.endpoint().account().to_owned()),
            tables: tables.map(str::to_owned),
            filter: text(matches, "filter").map(str::to_owned),
            select,
            bounds: bounds(matches),
        }
    }

    /// What this job is, if the other one cannot go on from where it stands.
    fn refuses(&self, other: &Self) -> Option<String> {
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
    fn a_token_is_of_one_comparison() {
        let texts = |texts: [&str; 2]| texts.map(str::to_owned);
        let job = Job {
            accounts: texts(["a", "b"]),
            tables: texts(["Left", "Right"]),
            filter: None,
            select: None,
            bounds: Bounds::default(),
        };
        let refused = |change: fn(&mut Job)| {
            let mut other = job.clone();
            change(&mut other);
            job.refuses(&other)
        };
        assert_eq!(refused(|_| {}), None);
        assert_eq!(refused(|other| other.tables[0] = "left".to_owned()), None);
        let tables = refused(|other| other.tables.swap(0, 1)).unwrap();
        assert_eq!(tables, "tables Left and Right");
        let accounts = refused(|other| other.accounts.swap(0, 1)).unwrap();
        assert_eq!(accounts, "tables of accounts a and b");
        let changes: [fn(&mut Job); 3] = [
            |other| other.filter = Some("N eq 1".to_owned()),
            |other| other.select = Some(vec!["N".to_owned()]),
            |other| other.bounds.lower = Lower::From("p".to_owned()),
        ];
        for change in changes {
            assert!(refused(change).unwrap().contains("another filter"));
        }
    }
}
