//! `partita ranges`: the ranges with where they begin, sizes, rates, epochs and lineage.

use super::{Asking, bound, number, printed_whole, say_all, tenths};
use crate::error::{End, Failure};
use crate::output::{Output, Shape, Shown};
use crate::progress::many;
use clap::{ArgMatches, Command};
use partita_client::ValueRef;
use partita_tools::admin::{Range, Ranges};

pub(crate) fn command() -> Command {
    Command::new("ranges")
        .about("List the ranges: where they begin, sizes, rates, epochs, and what they share")
}

pub(crate) async fn run(matches: &ArgMatches) -> Result<End, Failure> {
    let Asking { port, talk } = Asking::of(matches)?;
    let answer = port.page("/admin/v1/ranges").await?;
    let ranges: Ranges = answer.read()?;
    if !printed_whole(matches, &answer)? {
        let mut output = Output::of(matches, Shape::Rows, None);
        for range in &ranges.ranges {
            show(range, &mut output)?;
        }
        output.end()?;
        say_all(&notes(&ranges));
    }
    let found = ranges.ranges.len() as u64;
    let version = ranges.map_version;
    talk.end(&format!(
        "{} in version {version} of the map",
        many(found, "range", "ranges")
    ));
    Ok(End::of_count(found))
}

fn show(range: &Range, output: &mut Output) -> Result<(), Failure> {
    let (start, end) = (
        bound(range.start.as_ref(), ""),
        bound(range.end.as_ref(), ""),
    );
    let window = range.last_window.clone().unwrap_or_default();
    let state = match (range.frozen, range.sources) {
        (true, _) => "in transit",
        (false, 0) => "serving",
        (false, _) => "serving, rewriting",
    };
    output.row(&Shown::Record(&[
        ("Range", number(range.id)),
        ("Epoch", number(range.epoch)),
        ("From", ValueRef::String(&start)),
        ("Before", ValueRef::String(&end)),
        ("Bytes", number(range.bytes)),
        ("Files", number(range.files)),
        ("SharedWith", number(range.sources)),
        ("Lineage", number(range.lineage)),
        (
            "Requests",
            ValueRef::Double(tenths(range.requests_per_second.unwrap_or_default())),
        ),
        ("Cores", ValueRef::Double(range.cores.unwrap_or_default())),
        ("P50Us", number(window.p50_us)),
        ("P99Us", number(window.p99_us)),
        ("State", ValueRef::String(state)),
    ]))
}

fn notes(ranges: &Ranges) -> Vec<String> {
    let change = ranges.change.as_ref().map(ToString::to_string);
    let orphans = ranges.orphans.len() as u64;
    let orphans = (orphans > 0).then(|| {
        let databases = many(orphans, "database", "databases");
        format!("{databases} of ranges that are no more wait until nobody shares their files")
    });
    change.into_iter().chain(orphans).collect()
}
