//! The row of a step.

use super::text_property::{put_text, text};
use super::{FleetError, Tally, Work};
use partita_bulk::{hex, named_enum};
use partita_client::{DateTime, ETag, Entity, Value};
use sha2::{Digest as _, Sha256};

/// The prefix of the RowKeys of steps.
pub(super) const PREFIX: &str = "step-";
/// Number of hexadecimal digits of an id: 96 bits, as in [`crate::scan::StepId`].
const ID_DIGITS: usize = 24;
/// Maximum length of a stored error, in characters.
const ERROR_CHARS_MAX: usize = 4000;

named_enum! {
    /// The state of a step.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum StepState {
        /// To be executed, or being executed.
        Open = "open",
        /// Executed.
        Done = "done",
        /// Failed too often.
        Dead = "dead",
    }
}

/// A step of a job.
#[derive(Debug, Clone, PartialEq)]
pub struct StepRow {
    /// The id of the job.
    pub job: String,
    /// The id of the step.
    pub id: String,
    /// The state.
    pub state: StepState,
    /// What it has to do.
    pub work: Work,
    /// Failed attempts.
    pub tries: u32,
    /// The error of the last failed attempt.
    pub error: Option<String>,
    /// Whether the worker that created it executes it first, without receiving its message: one more attempt than the
    /// queue has counted.
    pub(super) is_kept: bool,
    pub(super) etag: Option<ETag>,
}

/// A step without its work, for totals.
#[derive(Debug, Clone, PartialEq)]
pub struct StepSummary {
    /// The id of the step.
    pub id: String,
    /// The state.
    pub state: StepState,
    /// The result, if the step is done.
    pub tally: Tally,
    /// The error of the last failed attempt.
    pub error: Option<String>,
    /// When the row was last written, by the server's clock.
    pub written: Option<DateTime>,
    /// What the kind of the job needs to end the job, as JSON.
    pub(super) output: Option<String>,
}

/// The result of a step.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct StepResult {
    pub(super) tally: Tally,
    /// What the kind of the job needs to end the job, as JSON.
    pub(super) output: Option<String>,
}

impl StepRow {
    /// An open step. The work of a job is never repeated, so the id is a hash of it.
    pub(super) fn open(job: &str, work: Work) -> Result<Self, FleetError> {
        let text = work_text(&work)?;
        let mut id = hex(Sha256::digest(text));
        id.truncate(ID_DIGITS);
        Ok(Self {
            job: job.to_owned(),
            id,
            state: StepState::Open,
            work,
            tries: 0,
            error: None,
            is_kept: false,
            etag: None,
        })
    }

    /// The row of an open or a dead step.
    pub(super) fn entity(&self) -> Result<Entity, FleetError> {
        let mut row = Entity::new(&*self.job, row_key(&self.id));
        put_text(&mut row, "Work", &work_text(&self.work)?);
        let tries = i32::try_from(self.tries).unwrap_or(i32::MAX);
        row.insert("State", self.state.name())
            .insert("Tries", tries);
        if let Some(error) = &self.error {
            let error: String = error.chars().take(ERROR_CHARS_MAX).collect();
            row.insert("Error", error);
        }
        if self.is_kept {
            row.insert("Kept", true);
        }
        Ok(row)
    }

    /// The row of the step with its result. `run` is unique to the run that made the result, so that equal results of
    /// two runs are different rows.
    pub(super) fn done(&self, result: &StepResult, run: &str) -> Result<Entity, FleetError> {
        let done = Self {
            state: StepState::Done,
            ..self.clone()
        };
        let mut row = done.entity()?;
        let tally = serde_json::to_string(&result.tally);
        let tally = tally.map_err(|error| FleetError::damaged(&self.id, error))?;
        row.insert("Run", run).insert("Tally", tally);
        if let Some(output) = &result.output {
            put_text(&mut row, "Output", output);
        }
        Ok(row)
    }

    pub(super) fn read(row: &Entity) -> Result<Self, FleetError> {
        let key = row.row_key();
        let work = text(row, "Work").unwrap_or_default();
        let tries = match row.get("Tries") {
            Some(Value::Int32(tries)) => u32::try_from(*tries).unwrap_or(0),
            _ => 0,
        };
        Ok(Self {
            job: row.partition_key().to_owned(),
            id: key.strip_prefix(PREFIX).unwrap_or(key).to_owned(),
            state: state(row)?,
            work: serde_json::from_str(&work).map_err(|error| FleetError::damaged(key, error))?,
            tries,
            error: text(row, "Error"),
            is_kept: matches!(row.get("Kept"), Some(Value::Boolean(true))),
            etag: row.etag().cloned(),
        })
    }
}

impl StepSummary {
    /// The properties that [`Self::read`] needs, except further pieces of a long output.
    pub(super) const SELECT: [&str; 4] = ["State", "Tally", "Error", "Timestamp"];

    pub(super) fn read(row: &Entity) -> Result<Self, FleetError> {
        let key = row.row_key();
        let tally = text(row, "Tally").map(|text| serde_json::from_str(&text));
        let tally = tally.transpose();
        Ok(Self {
            id: key.strip_prefix(PREFIX).unwrap_or(key).to_owned(),
            state: state(row)?,
            tally: tally
                .map_err(|error| FleetError::damaged(key, error))?
                .unwrap_or_default(),
            error: text(row, "Error"),
            written: row.timestamp(),
            output: text(row, "Output"),
        })
    }
}

/// The RowKey of a step.
pub(super) fn row_key(id: &str) -> String {
    format!("{PREFIX}{id}")
}

fn state(row: &Entity) -> Result<StepState, FleetError> {
    let state = text(row, "State").and_then(|name| StepState::of_name(&name));
    state.ok_or_else(|| FleetError::damaged(row.row_key(), "State is not known"))
}

fn work_text(work: &Work) -> Result<String, FleetError> {
    serde_json::to_string(work).map_err(|error| FleetError::damaged("Work", error))
}

#[cfg(test)]
mod tests {
    use super::super::ImportFile;
    use super::*;
    use crate::formats::InputFormat;
    use crate::scan::{Bounds, Strategy};

    fn row() -> StepRow {
        let work = Strategy::Ranges.plan(&Bounds::default(), &["m'".to_owned()], 1);
        StepRow::open("job", Work::Parts(work)).unwrap()
    }

    #[test]
    fn a_step_is_stored_and_read() {
        let mut step = row();
        assert_eq!(StepRow::read(&step.entity().unwrap()).unwrap(), step);
        (step.state, step.tries) = (StepState::Dead, 5);
        (step.error, step.is_kept) = (Some("x".repeat(ERROR_CHARS_MAX)), true);
        assert_eq!(StepRow::read(&step.entity().unwrap()).unwrap(), step);
    }

    #[test]
    fn a_step_of_files_is_stored_and_read() {
        let file = ImportFile {
            file: "a/b.csv".to_owned(),
            format: InputFormat::Csv,
            part: None,
            rows_done: 7,
        };
        let step = StepRow::open("job", Work::Files(vec![file])).unwrap();
        assert_eq!(StepRow::read(&step.entity().unwrap()).unwrap(), step);
    }

    #[test]
    fn the_result_is_stored_and_read() {
        let result = StepResult {
            tally: Tally {
                rows: 7,
                kept: 1,
                ..Tally::default()
            },
            output: Some("{}".to_owned()),
        };
        let stored = row().done(&result, "run").unwrap();
        let summary = StepSummary::read(&stored).unwrap();
        assert_eq!(
            (summary.state, summary.tally, summary.output),
            (StepState::Done, result.tally, result.output)
        );
        assert_eq!(StepRow::read(&stored).unwrap().work, row().work);
    }

    #[test]
    fn ids_are_hashes_of_the_work() {
        assert_eq!(row().id, row().id);
        assert_eq!(row().id.len(), ID_DIGITS);
        let other = Work::Parts(Vec::new());
        assert_ne!(StepRow::open("job", other).unwrap().id, row().id);
    }
}
