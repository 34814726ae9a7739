//! `partita entity insert|replace|merge|upsert`: one entity from the command line, or any number from stdin.

use super::properties::{self, HELP};
use super::stdin::Entities;
use crate::args::connection::Connection;
use crate::args::{self, required, switch, text};
use crate::error::{End, Failure};
use crate::output::{self, Output, Shape, Shown};
use crate::progress::{Talk, many, say};
use clap::{Arg, ArgAction, ArgMatches, Command};
use partita_client::{ETag, Entity, IfMatch, TableClient, UpdateMode, ValueRef};

/// What a write does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Insert,
    Replace,
    Merge,
    Upsert,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::Replace => "replace",
            Self::Merge => "merge",
            Self::Upsert => "upsert",
        }
    }

    fn about(self) -> &'static str {
        match self {
            Self::Insert => "Insert an entity that is not there yet",
            Self::Replace => "Replace an entity that is there",
            Self::Merge => "Set properties of an entity that is there",
            Self::Upsert => "Set properties of an entity, or insert it",
        }
    }

    /// What was done, in the last line.
    fn done(self) -> &'static str {
        match self {
            Self::Insert => "inserted",
            Self::Replace => "replaced",
            Self::Merge => "merged",
            Self::Upsert => "upserted",
        }
    }
}

pub(crate) fn command(kind: Kind) -> Command {
    let property = Arg::new("property")
        .value_name("PROPERTY")
        .action(ArgAction::Append)
        .help(HELP);
    let stdin = switch(
        "stdin",
        "Read JSON from stdin: the properties, or without keys, whole entities",
    );
    let command = Command::new(kind.name())
        .about(kind.about())
        .arg(args::table())
        .arg(super::key("partition-key", "PARTITION-KEY").requires("row-key"))
        .arg(super::key("row-key", "ROW-KEY"))
        .arg(property)
        .arg(stdin)
        .arg(args::dry_run("Read and check, and write nothing"))
        .arg(output::argument());
    match kind {
        Kind::Insert => command,
        Kind::Upsert => command.arg(switch(
            "replace",
            "Properties that are not given go, if the entity is there",
        )),
        Kind::Replace | Kind::Merge => command.arg(super::if_match_argument()),
    }
}

pub(crate) async fn run(kind: Kind, matches: &ArgMatches) -> Result<End, Failure> {
    let connection = Connection::of(matches)?;
    let table = connection.service.table_client(required(matches, "table")?);
    let writing = Writing {
        talk: Talk::new(&connection),
        table,
        write: write_of(kind, matches),
        dry_run: matches.get_flag("dry-run"),
        done: kind.done(),
    };
    let keys = text(matches, "partition-key").zip(text(matches, "row-key"));
    let words = args::texts(matches, "property");
    match (keys, matches.get_flag("stdin")) {
        (None, false) => Err(Failure::usage(
            "give PARTITION-KEY and ROW-KEY, or --stdin for entities as JSON",
        )),
        (Some((partition_key, row_key)), false) => {
            let mut entity = Entity::new(partition_key, row_key);
            for word in &words {
                properties::set(word, &mut entity)?;
            }
            writing
                .all(matches, Shape::Single, |at| {
                    Ok((at == 0).then(|| entity.clone()))
                })
                .await
        }
        (Some(_), true) if !words.is_empty() => Err(Failure::usage(
            "give properties as words or by --stdin, not both",
        )),
        (keys, true) => {
            let mut entities = Entities::new(std::io::stdin().lock());
            let shape = if keys.is_some() {
                Shape::Single
            } else {
                Shape::Rows
            };
            writing
                .all(matches, shape, |at| match (entities.next(keys)?, keys) {
                    (Some(_), Some(_)) if at > 0 => Err(Failure::usage(
                        "the input has more than one entity for these keys",
                    )),
                    (entity, _) => Ok(entity),
                })
                .await
        }
    }
}

/// How an entity is written.
enum Write {
    Insert,
    Update(UpdateMode, IfMatch),
    Upsert(UpdateMode),
}

fn write_of(kind: Kind, matches: &ArgMatches) -> Write {
    match kind {
        Kind::Insert => Write::Insert,
        Kind::Replace => Write::Update(UpdateMode::Replace, super::if_match(matches)),
        Kind::Merge => Write::Update(UpdateMode::Merge, super::if_match(matches)),
        Kind::Upsert if matches.get_flag("replace") => Write::Upsert(UpdateMode::Replace),
        Kind::Upsert => Write::Upsert(UpdateMode::Merge),
    }
}

struct Writing {
    talk: Talk,
    table: TableClient,
    write: Write,
    dry_run: bool,
    done: &'static str,
}

impl Writing {
    /// Writes one entity after the other, in the order in which they come.
    async fn all(
        self,
        matches: &ArgMatches,
        shape: Shape,
        mut next: impl FnMut(usize) -> Result<Option<Entity>, Failure>,
    ) -> Result<End, Failure> {
        let mut output = Output::of(matches, shape, None);
        let mut written = 0;
        let mut read = 0;
        while let Some(entity) = next(read)? {
            read += 1;
            if self.dry_run {
                continue;
            }
            match self.one(&entity).await {
                Ok(etag) => show(&entity, &etag, &mut output)?,
                Err(error) => {
                    output.end()?;
                    if super::is_missing(&error) {
                        super::say_missing(entity.partition_key(), entity.row_key());
                        self.talk.end(&in_words(written, self.done));
                        return Ok(End::NothingFound);
                    }
                    if written > 0 {
                        let before = in_words(written, self.done);
                        say(&format!("{before} before the failure"));
                    }
                    return Err(error.into());
                }
            }
            written += 1;
        }
        output.end()?;
        if self.dry_run {
            let read = many(read as u64, "entity", "entities");
            say(&format!("{read} would be {}", self.done));
        }
        self.talk.end(&in_words(written, self.done));
        Ok(End::of_count(read as u64))
    }

    async fn one(&self, entity: &Entity) -> partita_client::Result<ETag> {
        match &self.write {
            Write::Insert => self.table.create_entity(entity).await,
            Write::Update(mode, if_match) => {
                self.table.update_entity(entity, *mode, if_match).await
            }
            Write::Upsert(mode) => self.table.upsert_entity(entity, *mode).await,
        }
    }
}

fn in_words(written: u64, done: &str) -> String {
    format!("{} {done}", many(written, "entity", "entities"))
}

fn show(entity: &Entity, etag: &ETag, output: &mut Output) -> Result<(), Failure> {
    output.row(&Shown::Record(&[
        ("PartitionKey", ValueRef::String(entity.partition_key())),
        ("RowKey", ValueRef::String(entity.row_key())),
        ("odata.etag", ValueRef::String(etag.as_str())),
    ]))
}
