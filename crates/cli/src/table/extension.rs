//! `partita table set|rename|truncate`: what Partita does with tables beyond the Table service.

use crate::args::connection::Connection;
use crate::args::required;
use crate::error::{End, Failure};
use crate::progress::{Talk, confirm};
use clap::{Arg, ArgMatches, Command};
use partita_client::{TableClient, TableSettings, TimeToLive};
use std::time::Duration;

pub(crate) fn set(verb: Command) -> Command {
    verb.about("Set how long the rows of a table live")
        .arg(crate::args::table())
        .arg(
            Arg::new("ttl")
                .long("ttl")
                .required(true)
                .value_name("TIME")
                .value_parser(parse_ttl)
                .help("Since their last write, such as 30d or 12h, or none"),
        )
        .arg(crate::args::yes())
}

pub(crate) fn rename(verb: Command) -> Command {
    let name = |id: &'static str, value: &'static str, help: &'static str| {
        Arg::new(id).required(true).value_name(value).help(help)
    };
    verb.about("Give a table another name, instantly")
        .arg(name("table", "TABLE", "Its name"))
        .arg(name("to", "NAME", "Its new name"))
}

pub(crate) fn truncate(verb: Command) -> Command {
    verb.about("Remove all rows of a table, instantly")
        .arg(crate::args::table())
        .arg(crate::args::yes())
}

/// `none`, or a time in words.
fn parse_ttl(text: &str) -> Result<Option<TimeToLive>, String> {
    if text == "none" {
        return Ok(None);
    }
    let time = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if time.subsec_nanos() != 0 {
        return Err("a time to live is whole seconds".to_owned());
    }
    let ttl = TimeToLive::from_seconds(time.as_secs());
    ttl.map(Some).map_err(|error| error.to_string())
}

/// A time to live in the words that `--ttl` takes.
pub(crate) fn ttl_text(ttl: Option<TimeToLive>) -> String {
    ttl.map_or("none".to_owned(), |ttl| {
        humantime::format_duration(Duration::from_secs(ttl.seconds())).to_string()
    })
}

/// A table of a server that knows these operations.
async fn table(
    connection: &Connection,
    matches: &ArgMatches,
) -> Result<(TableClient, TableSettings), Failure> {
    let table = connection.service.table_client(required(matches, "table")?);
    match table.settings().await? {
        Some(settings) => Ok((table, settings)),
        None => Err(Failure::Usage(
            "this server cannot do that: only Partita can (see `partita copy` and `partita purge`)"
                .to_owned(),
        )),
    }
}

pub(crate) async fn run_set(matches: &ArgMatches) -> Result<End, Failure> {
    let connection = Connection::of(matches)?;
    let (table, settings) = table(&connection, matches).await?;
    let ttl = matches
        .get_one::<Option<TimeToLive>>("ttl")
        .copied()
        .flatten();
    let is_shorter = ttl.is_some_and(|ttl| settings.ttl.is_none_or(|now| ttl < now));
    if is_shorter {
        let question = format!(
            "make rows of {} go that were last written more than {} ago",
            settings.name,
            ttl_text(ttl)
        );
        confirm(&question, matches.get_flag("yes"))?;
    }
    let talk = Talk::new(&connection);
    table.set_time_to_live(ttl).await?;
    talk.end(&format!(
        "{}: time to live {}",
        settings.name,
        ttl_text(ttl)
    ));
    Ok(End::Done)
}

pub(crate) async fn run_rename(matches: &ArgMatches) -> Result<End, Failure> {
    let connection = Connection::of(matches)?;
    let (table, settings) = table(&connection, matches).await?;
    let to = required(matches, "to")?;
    let talk = Talk::new(&connection);
    table.rename(to).await?;
    talk.end(&format!("{} is now {to}", settings.name));
    Ok(End::Done)
}

pub(crate) async fn run_truncate(matches: &ArgMatches) -> Result<End, Failure> {
    let connection = Connection::of(matches)?;
    let (table, settings) = table(&connection, matches).await?;
    let question = format!("delete all rows of table {}", settings.name);
    confirm(&question, matches.get_flag("yes"))?;
    let talk = Talk::new(&connection);
    table.truncate().await?;
    talk.end(&format!("{} is empty", settings.name));
    Ok(End::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_to_live_are_read_and_shown() {
        for (text, seconds) in [
            ("30d", 30 * 86_400),
            ("12h 5m", 43_500),
            ("1s", 1),
            ("90s", 90),
        ] {
            let ttl = parse_ttl(text).unwrap().unwrap();
            assert_eq!(ttl.seconds(), seconds, "{text}");
            assert_eq!(parse_ttl(&ttl_text(Some(ttl))), Ok(Some(ttl)), "{text}");
        }
        assert_eq!(parse_ttl("none"), Ok(None));
        assert_eq!(ttl_text(None), "none");
        for text in ["", "30", "0s", "500ms", "1s 1ms", "-1d", "forever", "101y"] {
            assert!(parse_ttl(text).is_err(), "{text}");
        }
    }
}
