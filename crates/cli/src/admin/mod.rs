//! `partita admin ACTION RANGE`: what can be done to a range.

use crate::args::text;
use crate::error::{End, Failure};
use crate::output::{Output, Shape, Shown};
use crate::server::{Asking, DEFAULT_ACCOUNT, printed_whole, tenths, with_port};
use clap::{Arg, ArgMatches, Command, value_parser};
use partita_client::Value;
use serde_json::{Map, Value as Json};

/// The actions, each with what it does.
const ACTIONS: [(&str, &str); 7] = [
    ("split", "Make two ranges of one, while it serves"),
    ("merge", "Make one range of two neighbours"),
    (
        "flush",
        "Move rows that are in memory to files, so that a start has nothing to replay",
    ),
    (
        "checkpoint",
        "Flush, and keep the files that the rows are in then from being removed for a while",
    ),
    (
        "compact",
        "Rewrite its files, and those it shares, into as few as they fit",
    ),
    ("collect", "Remove files and databases that nobody needs"),
    (
        "freeze",
        "Keep writes waiting for a moment, as a split does",
    ),
];

pub(crate) fn command() -> Command {
    let actions =
        ACTIONS.map(|(name, about)| with_port(arguments(name, Command::new(name).about(about))));
    Command::new("admin")
        .about("Act on a range of a Partita server")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands(actions)
}

fn arguments(action: &str, command: Command) -> Command {
    let option = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(value).help(help)
    };
    let number = value_parser!(u64);
    let range = Arg::new("range")
        .required(true)
        .value_name("RANGE")
        .value_parser(value_parser!(u64))
        .help("Its number, as `partita ranges` shows it");
    let command = command.arg(range);
    match action {
        "split" => command
            .arg(
                option(
                    "table",
                    "TABLE",
                    "The table to cut [default: in the middle of the range's bytes]",
                )
                .requires("at"),
            )
            .arg(
                option(
                    "at",
                    "KEY",
                    "The PartitionKey that the right range begins with",
                )
                .requires("table"),
            )
            .arg(option("account", "NAME", "The table's account").default_value(DEFAULT_ACCOUNT)),
        "merge" => command.arg(
            option("with", "RANGE", "The neighbour [default: the next one]").value_parser(number),
        ),
        "checkpoint" => command.arg(
            option("seconds", "N", "For how long, 1 to 86,400 [default: 60]")
                .value_parser(value_parser!(u64).range(1..=86_400)),
        ),
        "freeze" => command.arg(
            option(
                "milliseconds",
                "N",
                "For how long, at most 1,000 [default: 100]",
            )
            .value_parser(value_parser!(u64).range(1..=1000)),
        ),
        _ => command,
    }
}

pub(crate) async fn run(matches: &ArgMatches) -> Result<End, Failure> {
    let Some((action, matches)) = matches.subcommand() else {
        return Err(Failure::usage("there is no such action"));
    };
    let Asking { port, talk } = Asking::of(matches)?;
    let range = matches.get_one::<u64>("range").copied();
    let range = range.ok_or_else(|| Failure::usage("the range is missing"))?;
    let answer = port.act(range, action, &body(action, matches)).await?;
    if !printed_whole(matches, &answer)? {
        let said: Map<String, Json> = answer.read()?;
        let fields: Vec<(String, Value)> = said
            .into_iter()
            .map(|(name, value)| (name, plain(&value)))
            .collect();
        let record: Vec<_> = fields
            .iter()
            .map(|(name, value)| (&**name, value.as_ref()))
            .collect();
        let mut output = Output::of(matches, Shape::Single, None);
        output.row(&Shown::Record(&record))?;
        output.end()?;
    }
    talk.end(&format!("{action} of range {range} done"));
    Ok(End::Done)
}

/// What the action is told; nothing when nothing was said.
fn body(action: &str, matches: &ArgMatches) -> String {
    let number = |name: &str| {
        matches
            .get_one::<u64>(name)
            .map(|number| (name.to_owned(), (*number).into()))
    };
    let word =
        |flag: &str, name: &str| text(matches, flag).map(|text| (name.to_owned(), text.into()));
    let wish: Map<String, Json> = match action {
        "split" if text(matches, "at").is_some() => [
            word("account", "account"),
            word("table", "table"),
            word("at", "partition_key"),
        ]
        .into_iter()
        .flatten()
        .collect(),
        "merge" => number("with").into_iter().collect(),
        "checkpoint" => number("seconds").into_iter().collect(),
        "freeze" => number("milliseconds").into_iter().collect(),
        _ => Map::new(),
    };
    if wish.is_empty() {
        String::new()
    } else {
        Json::Object(wish).to_string()
    }
}

/// A field of an answer, to a tenth; a place in words.
fn plain(value: &Json) -> Value {
    let words = || match serde_json::from_value::<partita_tools::admin::Place>(value.clone()) {
        Ok(place) if value.is_object() => place.to_string(),
        _ => value.to_string(),
    };
    match value {
        Json::String(text) => Value::String(text.clone()),
        Json::Bool(value) => Value::Boolean(*value),
        Json::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(number), _) => Value::Int64(number),
            (None, Some(number)) => Value::Double(tenths(number)),
            (None, None) => Value::String(number.to_string()),
        },
        _ => Value::String(words()),
    }
}
