//! Arguments that several verbs take, and what they say.

pub(crate) mod admin_port;
pub(crate) mod connection;
pub(crate) mod settings;

use crate::error::Failure;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use partita_tools::scan::{Bounds, Lower, Upper};

const SCAN: &str = "Scan";

/// The name of a table.
pub(crate) fn table() -> Arg {
    Arg::new("table")
        .required(true)
        .value_name("TABLE")
        .help("Name of the table")
}

/// A filter that may be left out.
pub(crate) fn filter() -> Arg {
    Arg::new("filter")
        .value_name("FILTER")
        .help("Only rows that pass, such as \"Age ge 18 and PartitionKey eq 'a'\" (OData)")
}

/// The same as a flag.
pub(crate) fn filter_flag() -> Arg {
    filter().long("filter")
}

/// Properties to show.
pub(crate) fn select() -> Arg {
    Arg::new("select")
        .long("select")
        .value_name("NAMES")
        .value_delimiter(',')
        .action(ArgAction::Append)
        .help("Only these properties; the keys come in any case")
}

/// Whether to show versions.
pub(crate) fn etag() -> Arg {
    switch("etag", "Show the ETag of each entity as odata.etag")
}

/// Yes beforehand.
pub(crate) fn yes() -> Arg {
    switch("yes", "Do not ask").short('y')
}

/// Only look.
pub(crate) fn dry_run(help: &'static str) -> Arg {
    switch("dry-run", help)
}

/// How many requests at once.
pub(crate) fn jobs() -> Arg {
    Arg::new("jobs")
        .long("jobs")
        .short('j')
        .value_name("N")
        .value_parser(value_parser!(u16).range(1..=256))
        .default_value("4")
        .help("Requests at the same time, 1 to 256")
}

/// A flag without value.
pub(crate) fn switch(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name)
        .long(name)
        .action(ArgAction::SetTrue)
        .help(help)
}

/// Adds the flags that say which partitions are read and how.
pub(crate) fn scanning(command: Command) -> Command {
    let bound = |name: &'static str, help: &'static str| {
        Arg::new(name)
            .long(name)
            .value_name("KEY")
            .help(help)
            .help_heading(SCAN)
    };
    let ends = ["from", "after", "before", "through"];
    command
        .arg(
            Arg::new("strategy")
                .long("strategy")
                .value_name("HOW")
                .value_parser(["auto", "serial", "prefix", "ranges"])
                .default_value("auto")
                .help("How the table is cut: not at all, by prefixes of its keys, at the server's ranges; auto takes what there is")
                .help_heading(SCAN),
        )
        .arg(jobs().help_heading(SCAN))
        .arg(bound("prefix", "Only partitions whose keys begin like this").conflicts_with_all(ends))
        .arg(bound("from", "Only partitions from this one on").conflicts_with("after"))
        .arg(bound("after", "Only partitions behind this one"))
        .arg(bound("before", "Only partitions before this one").conflicts_with("through"))
        .arg(bound("through", "Only partitions up to this one"))
        .arg(
            Arg::new("page-rows")
                .long("page-rows")
                .value_name("N")
                .value_parser(value_parser!(u16).range(1..=1000))
                .default_value("1000")
                .help("Rows to ask for with a page, 1 to 1,000")
                .help_heading(SCAN),
        )
        .arg(
            Arg::new("total")
                .long("total")
                .value_name("N")
                .value_parser(value_parser!(u64).range(1..))
                .help("How many rows there will be, to show how long it takes: the protocol does not tell")
                .help_heading(SCAN),
        )
        .arg(crate::args::connection::admin_argument())
}

/// A token of a run before.
pub(crate) fn resume() -> Arg {
    Arg::new("resume")
        .long("resume")
        .value_name("TOKEN")
        .help("Go on where an interrupted run stopped, by the token that it printed, or by the file @FILE that holds it")
        .help_heading(SCAN)
}

/// The text of an argument, if it was given.
pub(crate) fn text<'a>(matches: &'a ArgMatches, name: &str) -> Option<&'a str> {
    matches.get_one::<String>(name).map(String::as_str)
}

/// The text of an argument that clap requires.
pub(crate) fn required<'a>(matches: &'a ArgMatches, name: &str) -> Result<&'a str, Failure> {
    text(matches, name).ok_or_else(|| Failure::usage(format!("{name} is missing")))
}

/// All texts of an argument.
pub(crate) fn texts(matches: &ArgMatches, name: &str) -> Vec<String> {
    let texts = matches.get_many::<String>(name).into_iter().flatten();
    texts.map(|text| text.trim().to_owned()).collect()
}

/// The properties to show, if they were named.
pub(crate) fn selected(matches: &ArgMatches) -> Option<Vec<String>> {
    let names = texts(matches, "select");
    (!names.is_empty()).then_some(names)
}

/// How many requests at once.
pub(crate) fn job_count(matches: &ArgMatches) -> usize {
    matches
        .get_one::<u16>("jobs")
        .map_or(1, |&jobs| jobs.into())
}

/// How many rows the user says there are.
pub(crate) fn total(matches: &ArgMatches) -> Option<u64> {
    matches.get_one("total").copied()
}

/// Which partitions are read.
pub(crate) fn bounds(matches: &ArgMatches) -> Bounds {
    let key = |name| text(matches, name).map(str::to_owned);
    if let Some(prefix) = text(matches, "prefix") {
        return Bounds::of_prefix(prefix);
    }
    let from = key("from").map(Lower::From);
    let before = key("before").map(Upper::Before);
    Bounds {
        lower: from.or(key("after").map(Lower::After)).unwrap_or_default(),
        upper: before
            .or(key("through").map(Upper::Through))
            .unwrap_or_default(),
    }
}
