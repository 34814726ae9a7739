//! `partita entity insert|replace|merge|upsert`: one entity from the command line, or any number from stdin.

use super::IfMatchArgs;
use super::properties::{self, HELP};
use super::stdin::Entities;
use crate::args::ConnectionArgs;
use crate::args::connection::Connection;
use crate::error::{CommandError, Outcome};
use crate::output::{Output, OutputArgs, Shape};
use crate::progress::{Progress, message};
use crate::units::many;
use partita_client::{ETag, Entity, IfMatch, TableClient, UpdateMode, ValueRef};

#[derive(clap::Args)]
#[command(about = "Insert an entity that does not exist yet")]
pub(crate) struct InsertCommand {
    #[command(flatten)]
    write: WriteArgs,
}

#[derive(clap::Args)]
#[command(about = "Replace an existing entity")]
pub(crate) struct ReplaceCommand {
    #[command(flatten)]
    write: WriteArgs,
    #[command(flatten)]
    if_match: IfMatchArgs,
}

#[derive(clap::Args)]
#[command(about = "Set properties of an existing entity")]
pub(crate) struct MergeCommand {
    #[command(flatten)]
    write: WriteArgs,
    #[command(flatten)]
    if_match: IfMatchArgs,
}

#[derive(clap::Args)]
#[command(about = "Set properties of an entity, or insert it")]
pub(crate) struct UpsertCommand {
    #[command(flatten)]
    write: WriteArgs,
    /// Replace an existing entity: properties that are not given are removed
    #[arg(long)]
    replace: bool,
}

impl InsertCommand {
    pub(super) async fn run(self) -> Result<Outcome, CommandError> {
        self.write.run(WriteKind::Insert, "inserted").await
    }
}

impl ReplaceCommand {
    pub(super) async fn run(self) -> Result<Outcome, CommandError> {
        let kind = WriteKind::Update(UpdateMode::Replace, self.if_match.if_match());
        self.write.run(kind, "replaced").await
    }
}

impl MergeCommand {
    pub(super) async fn run(self) -> Result<Outcome, CommandError> {
        let kind = WriteKind::Update(UpdateMode::Merge, self.if_match.if_match());
        self.write.run(kind, "merged").await
    }
}

impl UpsertCommand {
    pub(super) async fn run(self) -> Result<Outcome, CommandError> {
        let mode = if self.replace {
            UpdateMode::Replace
        } else {
            UpdateMode::Merge
        };
        self.write.run(WriteKind::Upsert(mode), "upserted").await
    }
}

/// What is written: keys and properties, or stdin.
#[derive(clap::Args)]
struct WriteArgs {
    /// Table name
    #[arg(value_name = "TABLE")]
    table: String,
    /// PartitionKey; put -- before keys that begin with a hyphen
    #[arg(value_name = "PARTITION-KEY", requires = "row_key")]
    partition_key: Option<String>,
    /// RowKey
    #[arg(value_name = "ROW-KEY")]
    row_key: Option<String>,
    #[arg(value_name = "PROPERTY", help = HELP)]
    property: Vec<String>,
    /// Read JSON from stdin: the properties, or without keys, whole entities
    #[arg(long)]
    stdin: bool,
    /// Read and check, and write nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    connection: ConnectionArgs,
}

impl WriteArgs {
    /// Writes; `done` is what happened to each entity, for the last line.
    async fn run(self, kind: WriteKind, done: &'static str) -> Result<Outcome, CommandError> {
        let connection = Connection::new(&self.connection)?;
        let keys = self.partition_key.as_deref().zip(self.row_key.as_deref());
        let shape = if keys.is_some() {
            Shape::Single
        } else {
            Shape::Rows
        };
        let writer = EntityWriter {
            progress: Progress::new(&connection),
            table: connection.service.table_client(&self.table),
            kind,
            dry_run: self.dry_run,
            done,
            output: Output::stdout(self.output, shape, None),
        };
        let words: Vec<&str> = self.property.iter().map(|word| word.trim()).collect();
        match (keys, self.stdin) {
            (None, false) => Err(CommandError::usage(
                "give PARTITION-KEY and ROW-KEY, or --stdin for entities as JSON",
            )),
            (Some((partition_key, row_key)), false) => {
                let mut entity = Entity::new(partition_key, row_key);
                for word in words {
                    properties::set(word, &mut entity)?;
                }
                let entity = |index| Ok((index == 0).then(|| entity.clone()));
                writer.write_all(entity).await
            }
            (Some(_), true) if !words.is_empty() => Err(CommandError::usage(
                "give properties as arguments or by --stdin, not both",
            )),
            (keys, true) => {
                let mut entities = Entities::new(std::io::stdin().lock());
                let entity = |index| match (entities.next(keys)?, keys) {
                    (Some(_), Some(_)) if index > 0 => Err(CommandError::usage(
                        "the input has more than one entity for these keys",
                    )),
                    (entity, _) => Ok(entity),
                };
                writer.write_all(entity).await
            }
        }
    }
}

/// How an entity is written.
enum WriteKind {
    Insert,
    Update(UpdateMode, IfMatch),
    Upsert(UpdateMode),
}

struct EntityWriter {
    progress: Progress,
    table: TableClient,
    kind: WriteKind,
    dry_run: bool,
    done: &'static str,
    output: Output,
}

impl EntityWriter {
    /// Writes one entity after the other. `next` gives the entity of an index, and `None` at the end.
    async fn write_all(
        mut self,
        mut next: impl FnMut(u64) -> Result<Option<Entity>, CommandError>,
    ) -> Result<Outcome, CommandError> {
        let (mut read, mut written) = (0, 0);
        while let Some(entity) = next(read)? {
            read += 1;
            if self.dry_run {
                continue;
            }
            match self.write(&entity).await {
                Ok(etag) => write_etag(&entity, &etag, &mut self.output)?,
                Err(error) => {
                    self.output.finish()?;
                    let summary = summary(written, self.done);
                    if super::is_missing(&error) {
                        super::report_missing(entity.partition_key(), entity.row_key());
                        self.progress.finish(&summary);
                        return Ok(Outcome::NothingFound);
                    }
                    if written > 0 {
                        message(&format!("{summary} before the error"));
                    }
                    return Err(error.into());
                }
            }
            written += 1;
        }
        self.output.finish()?;
        if self.dry_run {
            let read = many(read, "entity", "entities");
            message(&format!("{read} would be {}", self.done));
        }
        self.progress.finish(&summary(written, self.done));
        Ok(Outcome::of_count(read))
    }

    async fn write(&self, entity: &Entity) -> partita_client::Result<ETag> {
        match &self.kind {
            WriteKind::Insert => self.table.create_entity(entity).await,
            WriteKind::Update(mode, if_match) => {
                self.table.update_entity(entity, *mode, if_match).await
            }
            WriteKind::Upsert(mode) => self.table.upsert_entity(entity, *mode).await,
        }
    }
}

fn summary(written: u64, done: &str) -> String {
    format!("{} {done}", many(written, "entity", "entities"))
}

fn write_etag(entity: &Entity, etag: &ETag, output: &mut Output) -> Result<(), CommandError> {
    output.record(&[
        ("PartitionKey", ValueRef::String(entity.partition_key())),
        ("RowKey", ValueRef::String(entity.row_key())),
        ("odata.etag", ValueRef::String(etag.as_str())),
    ])
}
