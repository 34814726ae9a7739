//! `partita entity insert|replace|merge|upsert`: one entity from the command line, or any number from stdin.

use super::properties::{self, HELP};
use super::stdin::Entities;
use super::{IfMatchArgs, failed, is_missing, not_found, of_table};
use crate::prelude::*;
use partita_client::{ETag, Entity, IfMatch, TableClient, UnknownOutcome, UpdateMode};

/// Insert an entity that does not exist yet
#[derive(clap::Args)]
pub(crate) struct InsertCommand {
    #[command(flatten)]
    write: WriteArgs,
}

/// Replace an existing entity
#[derive(clap::Args)]
pub(crate) struct ReplaceCommand {
    #[command(flatten)]
    write: WriteArgs,
    #[command(flatten)]
    if_match: IfMatchArgs,
}

/// Set properties of an existing entity
#[derive(clap::Args)]
pub(crate) struct MergeCommand {
    #[command(flatten)]
    write: WriteArgs,
    #[command(flatten)]
    if_match: IfMatchArgs,
}

/// Set properties of an entity, or insert it
#[derive(clap::Args)]
pub(crate) struct UpsertCommand {
    #[command(flatten)]
    write: WriteArgs,
    /// Replace an existing entity: properties that are not given are removed
    #[arg(long)]
    replace: bool,
}

impl AccountCommand for InsertCommand {
    async fn run(self, connection: Connection, progress: Progress) -> CommandResult {
        self.write
            .run(connection, progress, WriteKind::Insert)
            .await
    }
}

impl AccountCommand for ReplaceCommand {
    async fn run(self, connection: Connection, progress: Progress) -> CommandResult {
        let kind = WriteKind::Update(UpdateMode::Replace, self.if_match.if_match());
        self.write.run(connection, progress, kind).await
    }
}

impl AccountCommand for MergeCommand {
    async fn run(self, connection: Connection, progress: Progress) -> CommandResult {
        let kind = WriteKind::Update(UpdateMode::Merge, self.if_match.if_match());
        self.write.run(connection, progress, kind).await
    }
}

impl AccountCommand for UpsertCommand {
    async fn run(self, connection: Connection, progress: Progress) -> CommandResult {
        let mode = if self.replace {
            UpdateMode::Replace
        } else {
            UpdateMode::Merge
        };
        self.write
            .run(connection, progress, WriteKind::Upsert(mode))
            .await
    }
}

/// The entities to write: keys and properties of one, or JSON on stdin.
#[derive(clap::Args)]
struct WriteArgs {
    /// Table name
    table: String,
    /// PartitionKey; put -- before keys that begin with a hyphen
    #[arg(value_name = "PARTITION-KEY", requires = "row_key")]
    partition_key: Option<String>,
    /// RowKey
    #[arg(value_name = "ROW-KEY")]
    row_key: Option<String>,
    #[arg(value_name = "PROPERTY", help = HELP)]
    property: Vec<String>,
    /// Read JSON from stdin: the properties of the entity with these keys or, without keys, whole entities
    #[arg(long)]
    stdin: bool,
    /// Read and check the input, and look whether the entities exist: write nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    output: OutputArgs,
}

impl WriteArgs {
    async fn run(
        self,
        connection: Connection,
        progress: Progress,
        kind: WriteKind,
    ) -> CommandResult {
        let keys = self.partition_key.as_deref().zip(self.row_key.as_deref());
        let shape = if keys.is_some() {
            Shape::Single
        } else {
            Shape::Rows
        };
        let writer = EntityWriter {
            progress,
            table: connection
                .service
                .table_client(&self.table)
                // Scripts use rows as locks, so it matters who wrote them.
                .with_unknown_outcome(UnknownOutcome::Report),
            kind,
            dry_run: self.dry_run,
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

impl WriteKind {
    /// The participle of the operation, for messages.
    fn done(&self) -> &'static str {
        match self {
            Self::Insert => "inserted",
            Self::Update(UpdateMode::Replace, _) => "replaced",
            Self::Update(UpdateMode::Merge, _) => "merged",
            Self::Upsert(_) => "upserted",
        }
    }
}

struct EntityWriter {
    progress: Progress,
    table: TableClient,
    kind: WriteKind,
    dry_run: bool,
    output: Output,
}

impl EntityWriter {
    /// Writes one entity after the other. `next` gives the entity of an index, and `None` at the end.
    async fn write_all(
        mut self,
        mut next: impl FnMut(u64) -> Result<Option<Entity>, CommandError>,
    ) -> CommandResult {
        let done = self.kind.done();
        let summary = |written| format!("{} {done}", many(written, "entity", "entities"));
        let (mut read, mut written) = (0, 0);
        while let Some(entity) = next(read)? {
            read += 1;
            let (partition_key, row_key) = (entity.partition_key(), entity.row_key());
            if self.dry_run {
                let found = self.table.get_entity_if_exists(partition_key, row_key);
                let found = found.await.map_err(|error| of_table(error, &self.table))?;
                match (&self.kind, found.is_some()) {
                    (WriteKind::Insert, true) => {
                        return Err(CommandError::usage(format!(
                            "the entity with PartitionKey {partition_key:?} and RowKey {row_key:?} already exists"
                        )));
                    }
                    (WriteKind::Update(..), false) => {
                        return not_found((partition_key, row_key), self.progress, &summary(0));
                    }
                    _ => continue,
                }
            }
            let etag = match self.write(&entity).await {
                Ok(etag) => etag,
                Err(error) => {
                    self.output.finish()?;
                    let summary = summary(written);
                    if written > 0 && !is_missing(&error) {
                        message(&format!("{summary} before the error"));
                    }
                    let keys = (partition_key, row_key);
                    return failed(error, &self.table, keys, self.progress, &summary);
                }
            };
            self.output.record(&[
                ("PartitionKey", Field::text(partition_key)),
                ("RowKey", Field::text(row_key)),
                ("odata.etag", Field::text(etag.as_str())),
            ])?;
            written += 1;
        }
        self.output.finish()?;
        if self.dry_run {
            let read = many(read, "entity", "entities");
            message(&format!("{read} would be {done}"));
        }
        self.progress
            .finish(&summary(written), Outcome::of_count(read))
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
