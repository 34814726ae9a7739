//! Records of migrations. Besides the rows of the lease, the version table has one row for each migration that ran.
//!
//! The PartitionKey is `migration`, the RowKey the version, padded with zeros. The properties are `Id`, `Version`,
//! `Description`, `Checksum`, `State`, `StepsDone`, `Steps`, `Begun`, `Ended`, `Who` and `Failure`. The record of an
//! unfinished migration also has `InDoubt` and, if a step has made progress, `Progress` (JSON) and `Journal`.

use super::{Checksum, Direction, MigrateError};
use partita_bulk::named_enum;
use partita_bulk::scan::ResumeToken;
use partita_client::{
    DateTime, ETag, Entity, ErrorCode, Filter, IfMatch, QueryOptions, TableClient, UpdateMode,
    Value,
};
use serde::{Deserialize, Serialize};

const PARTITION: &str = "migration";
/// Number of digits of a version in a RowKey: as many as the largest Int64 has.
const VERSION_DIGITS: usize = 19;
/// Maximum length of a stored description, runner name or failure, in characters; longer texts are cut. The limit of a
/// property is much higher.
const TEXT_CHARS_MAX: usize = 4000;

named_enum! {
    /// The state of a migration.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum State {
        /// The migration is being applied, or stopped halfway.
        Applying = "applying",
        /// The migration is applied.
        Applied = "applied",
        /// The migration is being reverted, or stopped halfway.
        Reverting = "reverting",
        /// The migration is reverted.
        Reverted = "reverted",
    }
}

impl State {
    /// The state of a running migration.
    pub(super) fn running(direction: Direction) -> Self {
        match direction {
            Direction::Up => Self::Applying,
            Direction::Down => Self::Reverting,
        }
    }

    /// The state of a finished migration.
    pub(super) fn finished(direction: Direction) -> Self {
        match direction {
            Direction::Up => Self::Applied,
            Direction::Down => Self::Reverted,
        }
    }
}

/// The progress of a step. Each operation uses only some of the fields.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Progress {
    /// The current phase of a copy or a rename.
    pub(super) phase: u32,
    /// The number of batches written by an insert or upsert.
    pub(super) batches: usize,
    /// The position of the table scan.
    pub(super) token: Option<ResumeToken>,
    /// The last PartitionKey and RowKey of the page that is being changed in place.
    pub(super) end: Option<(String, String)>,
    /// The fingerprints of that page's rows before the change, one after the other.
    #[serde(skip)]
    pub(super) journal: Vec<u8>,
}

/// The record of a migration that ran.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// The version of the migration.
    pub version: u64,
    /// The id of the migration when it ran.
    pub id: String,
    /// The description of the migration.
    pub description: String,
    /// The checksum of the migration when it ran.
    pub checksum: Checksum,
    /// The state of the migration.
    pub state: State,
    /// The number of finished steps of the current direction.
    pub steps_done: usize,
    /// The number of steps of the current direction.
    pub steps: usize,
    /// When the migration began, by the runner's clock.
    pub begun: DateTime,
    /// When the migration ended, by the runner's clock.
    pub ended: Option<DateTime>,
    /// The name of the last runner.
    pub who: String,
    /// Why the migration stopped halfway, if its runner could record the failure.
    pub failure: Option<String>,
    /// Whether the current step may have done more than this record says.
    pub(super) in_doubt: bool,
    pub(super) progress: Progress,
    pub(super) etag: Option<ETag>,
}

impl Record {
    /// The direction of the last run.
    pub fn direction(&self) -> Direction {
        match self.state {
            State::Applying | State::Applied => Direction::Up,
            State::Reverting | State::Reverted => Direction::Down,
        }
    }

    /// Whether the migration is running, or stopped halfway.
    pub fn is_half_way(&self) -> bool {
        matches!(self.state, State::Applying | State::Reverting)
    }

    fn entity(&self) -> Entity {
        let key = format!("{:0width$}", self.version, width = VERSION_DIGITS);
        let mut row = Entity::new(PARTITION, key);
        let cut = |text: &str| text.chars().take(TEXT_CHARS_MAX).collect::<String>();
        let number = |count: usize| i32::try_from(count).unwrap_or(i32::MAX);
        row.insert("Id", &*self.id)
            .insert("Version", i64::try_from(self.version).unwrap_or(i64::MAX))
            .insert("Description", cut(&self.description))
            .insert("Checksum", &*self.checksum.0)
            .insert("State", self.state.to_string())
            .insert("StepsDone", number(self.steps_done))
            .insert("Steps", number(self.steps))
            .insert("Begun", self.begun)
            .insert("Who", cut(&self.who));
        if let Some(ended) = self.ended {
            row.insert("Ended", ended);
        }
        if let Some(failure) = &self.failure {
            row.insert("Failure", cut(failure));
        }
        if self.is_half_way() {
            row.insert("InDoubt", self.in_doubt);
            if self.progress != Progress::default() {
                let json = serde_json::to_string(&self.progress).unwrap_or_default();
                row.insert("Progress", json);
                row.insert("Journal", self.progress.journal.clone());
            }
        }
        row
    }

    fn read(row: &Entity) -> Result<Self, String> {
        let missing = |name: &str| format!("{name} is missing or of another type");
        let text = |name: &str| match row.get(name) {
            Some(Value::String(text)) => Ok(text.clone()),
            _ => Err(missing(name)),
        };
        let count = |name: &str| match row.get(name) {
            Some(Value::Int32(count)) => usize::try_from(*count).map_err(|_| missing(name)),
            _ => Err(missing(name)),
        };
        let time = |name: &str| match row.get(name) {
            Some(Value::DateTime(time)) => Some(*time),
            _ => None,
        };
        let version = row.row_key().parse().map_err(|_| missing("the version"))?;
        let state = State::of_name(&text("State")?);
        let mut progress: Progress = match text("Progress") {
            Ok(json) => serde_json::from_str(&json).map_err(|error| error.to_string())?,
            Err(_) => Progress::default(),
        };
        if let Some(Value::Binary(journal)) = row.get("Journal") {
            progress.journal.clone_from(journal);
        }
        Ok(Self {
            version,
            id: text("Id")?,
            description: text("Description")?,
            checksum: Checksum(text("Checksum")?),
            state: state.ok_or_else(|| missing("State"))?,
            steps_done: count("StepsDone")?,
            steps: count("Steps")?,
            begun: time("Begun").ok_or_else(|| missing("Begun"))?,
            ended: time("Ended"),
            who: text("Who")?,
            failure: text("Failure").ok(),
            in_doubt: row.get("InDoubt") != Some(&Value::Boolean(false)),
            progress,
            etag: row.etag().cloned(),
        })
    }
}

/// Reads all records, by version; empty if the table does not exist.
pub(super) async fn read_all(table: &TableClient) -> Result<Vec<Record>, MigrateError> {
    let options = QueryOptions::new().filter(Filter::pk().eq(PARTITION));
    let (mut records, mut from) = (Vec::new(), None);
    loop {
        let page = match table.query_page(&options, from.as_ref()).await {
            Err(error) if error.code() == Some(ErrorCode::TableNotFound) => return Ok(records),
            page => page.map_err(failed)?,
        };
        for row in page.entities().map_err(failed)? {
            let record = Record::read(&row).map_err(|what| MigrateError::Damaged {
                version: row.row_key().to_owned(),
                what,
            })?;
            records.push(record);
        }
        from = page.continuation().cloned();
        if from.is_none() {
            return Ok(records);
        }
    }
}

/// Replaces a record if its row is unchanged since this runner read or wrote it, or inserts a new one.
///
/// # Errors
/// [`MigrateError::Lost`] if another runner wrote the record.
pub(super) async fn write(table: &TableClient, record: &mut Record) -> Result<(), MigrateError> {
    let row = record.entity();
    let written = match &record.etag {
        None => table.create_entity(&row).await,
        Some(etag) => {
            let if_match = IfMatch::from(etag);
            table
                .update_entity(&row, UpdateMode::Replace, &if_match)
                .await
        }
    };
    match written {
        Ok(etag) => {
            record.etag = Some(etag);
            Ok(())
        }
        Err(error) if matches!(error.status(), Some(404 | 409 | 412)) => Err(MigrateError::Lost(
            "another runner wrote the record of this migration",
        )),
        Err(error) => Err(failed(error)),
    }
}

pub(super) fn failed(error: partita_client::Error) -> MigrateError {
    MigrateError::Records(Box::new(error))
}
