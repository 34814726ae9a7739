//! `partita diff LEFT RIGHT`: what two tables differ in.

use super::super::arguments::{self, bounds, required};
use super::super::connection::{self, Connection};
use super::super::failure::{End, Failure};
use super::super::output::{self, Output, Shape, Shown};
use super::super::reading::signal;
use super::super::resume;
use super::super::talk::{Talk, count, many};
use super::{reader, table};
use clap::{Arg, ArgMatches, Command, value_parser};
use partita_client::{Value, ValueRef};
use partita_tools::scan::{Bounds, Lower, Order};
use partita_tools::transfer::{
    Diff, DiffCounts, Difference, Keys, PropertyDifference, TableSource,
};
use partita_wire::push_value_text;
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

pub(super) fn command() -> Command {
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
        .arg(arguments::resume());
    connection::add_second(super::reading(command)).after_help(
        "Timestamps and ETags are not compared: no two tables share them. A number of another type is another value.\nFilter, properties and bounds are those of both tables.",
    )
}

/// Where an interrupted comparison stands.
#[derive(Debug, Serialize, Deserialize)]
struct Stand {
    left: String,
    right: String,
    reached: Keys,
    counts: DiffCounts,
}

type Tables = Diff<TableSource, TableSource>;

pub(in super::super) async fn run(matches: &ArgMatches) -> Result<End, Failure> {
    let left = Connection::of(matches)?;
    let right = left.second(matches)?;
    let names = [required(matches, "left")?, required(matches, "right")?];
    let stand = stand(matches, names)?;
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
    talk.show_progress("rows compared", arguments::total(matches), true);
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
            print_token(&failure, names, diff.reached(), counts);
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

fn print_token(failure: &Failure, names: [&str; 2], reached: Option<Keys>, counts: DiffCounts) {
    if !matches!(failure, Failure::Interrupted | Failure::Scan(_)) {
        return;
    }
    match reached {
        Some(reached) => resume::print(
            VERB,
            &Stand {
                left: names[0].to_owned(),
                right: names[1].to_owned(),
                reached,
                counts,
            },
        ),
        None => super::super::talk::say("nothing was compared yet"),
    }
}

/// Where `--resume` says that an interrupted comparison stands.
fn stand(matches: &ArgMatches, names: [&str; 2]) -> Result<Option<Stand>, Failure> {
    let Some(token) = arguments::text(matches, "resume") else {
        return Ok(None);
    };
    let stand: Stand = resume::read(token, VERB)?;
    let is_same = [&stand.left, &stand.right]
        .iter()
        .zip(names)
        .all(|(a, b)| a.eq_ignore_ascii_case(b));
    if !is_same {
        let Stand { left, right, .. } = stand;
        return Err(Failure::usage(format!(
            "the resume token is from tables {left} and {right}"
        )));
    }
    Ok(Some(stand))
}
