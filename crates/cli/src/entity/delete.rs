//! `partita entity delete TABLE PARTITION-KEY ROW-KEY`

use crate::args::connection::Connection;
use crate::args::{self, required};
use crate::error::{End, Failure};
use crate::progress::{Talk, confirm};
use clap::{ArgMatches, Command};

pub(crate) fn command() -> Command {
    super::with_keys(Command::new("delete").about("Delete the entity with these keys"))
        .arg(super::if_match_argument())
        .arg(args::yes())
}

pub(crate) async fn run(matches: &ArgMatches) -> Result<End, Failure> {
    let connection = Connection::of(matches)?;
    let name = required(matches, "table")?;
    let (partition_key, row_key) = (
        required(matches, "partition-key")?,
        required(matches, "row-key")?,
    );
    let question = format!(
        "delete the entity with PartitionKey {partition_key:?} and RowKey {row_key:?} of table {name}"
    );
    confirm(&question, matches.get_flag("yes"))?;
    let talk = Talk::new(&connection);
    let table = connection.service.table_client(name);
    let if_match = super::if_match(matches);
    match table.delete_entity(partition_key, row_key, &if_match).await {
        Ok(()) => {
            talk.end("1 entity deleted");
            Ok(End::Done)
        }
        Err(error) if super::is_missing(&error) => {
            super::say_missing(partition_key, row_key);
            talk.end("0 entities deleted");
            Ok(End::NothingFound)
        }
        Err(error) => Err(error.into()),
    }
}
