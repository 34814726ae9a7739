//! `partita entity get TABLE PARTITION-KEY ROW-KEY`

use crate::args::connection::Connection;
use crate::args::{self, required, selected};
use crate::error::{End, Failure};
use crate::output::{self, Output, Shape, Shown};
use crate::progress::Talk;
use clap::{ArgMatches, Command};

pub(crate) fn command() -> Command {
    super::with_keys(Command::new("get").about("Show the entity with these keys"))
        .arg(args::select())
        .arg(args::etag())
        .arg(output::argument())
}

pub(crate) async fn run(matches: &ArgMatches) -> Result<End, Failure> {
    let connection = Connection::of(matches)?;
    let talk = Talk::new(&connection);
    let table = connection.service.table_client(required(matches, "table")?);
    let (partition_key, row_key) = (
        required(matches, "partition-key")?,
        required(matches, "row-key")?,
    );
    let columns = selected(matches);
    let found = match &columns {
        None => table.get_entity(partition_key, row_key).await,
        Some(names) => {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            table
                .get_entity_selected(partition_key, row_key, &names)
                .await
        }
    };
    let entity = match found {
        Ok(entity) => entity,
        Err(error) if super::is_missing(&error) => {
            super::say_missing(partition_key, row_key);
            talk.end("0 entities");
            return Ok(End::NothingFound);
        }
        Err(error) => return Err(error.into()),
    };
    let etag = matches.get_flag("etag");
    let mut output = Output::of(matches, Shape::Single, columns.as_deref());
    output.row(&Shown::Entity {
        entity: &entity,
        etag,
    })?;
    output.end()?;
    talk.end("1 entity");
    Ok(End::Done)
}
