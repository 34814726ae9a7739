//! Jobs: their rows.

use super::text_property::{put_text, text};
use super::{FleetError, JobSpec, JobState, Tally};
use partita_client::{DateTime, ETag, Entity, Value};

/// The partition of the rows of jobs.
pub(super) const JOBS: &str = "jobs";
/// Maximum length of the id of a job, in characters. The name of its queue has at most 63.
const ID_CHARS_MAX: usize = 40;

/// A job, as its row stores it.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// The id: small letters, digits and hyphens.
    pub id: String,
    /// The specification.
    pub spec: JobSpec,
    /// The state.
    pub state: JobState,
    /// The sums over its steps; `None` before the end.
    pub totals: Option<Tally>,
    /// When it was started, by the clock of the process that started it.
    pub started: DateTime,
    /// When it ended, by the clock of the process that ended it.
    pub ended: Option<DateTime>,
    pub(super) etag: Option<ETag>,
}

impl Job {
    /// A new job with an id that contains the kind, the table and random digits.
    pub(super) fn new(spec: JobSpec) -> Self {
        let table = spec.source.table.to_ascii_lowercase();
        let table = table.chars().filter(char::is_ascii_alphanumeric);
        let words = format!("{}-{}", spec.kind.name(), table.collect::<String>());
        let words: String = words.chars().take(ID_CHARS_MAX - 9).collect();
        Self {
            id: format!("{words}-{:08x}", fastrand::u32(..)),
            spec,
            state: JobState::Running,
            totals: None,
            started: partita_client::now(),
            ended: None,
            etag: None,
        }
    }

    /// The name of its queue.
    pub fn queue_name(&self) -> String {
        format!("partita-fleet-{}", self.id)
    }

    pub(super) fn entity(&self) -> Result<Entity, FleetError> {
        let damaged = |error| FleetError::damaged(&self.id, error);
        let mut row = Entity::new(JOBS, &*self.id);
        let spec = serde_json::to_string(&self.spec).map_err(damaged)?;
        put_text(&mut row, "Spec", &spec);
        row.insert("Kind", self.spec.kind.name())
            .insert("Table", &*self.spec.source.table)
            .insert("State", self.state.name())
            .insert("Started", self.started);
        if let Some(ended) = self.ended {
            row.insert("Ended", ended);
        }
        if let Some(totals) = &self.totals {
            let totals = serde_json::to_string(totals).map_err(damaged)?;
            row.insert("Totals", totals);
        }
        Ok(row)
    }

    pub(super) fn read(row: &Entity) -> Result<Self, FleetError> {
        let id = row.row_key();
        let damaged = |what: &str| FleetError::damaged(id, what);
        let json = |error: serde_json::Error| FleetError::damaged(id, error);
        let spec = text(row, "Spec").ok_or_else(|| damaged("Spec is missing"))?;
        let state = text(row, "State").and_then(|name| JobState::of_name(&name));
        let totals = text(row, "Totals").map(|text| serde_json::from_str(&text));
        let time = |name| match row.get(name) {
            Some(Value::DateTime(time)) => Some(*time),
            _ => None,
        };
        Ok(Self {
            id: id.to_owned(),
            spec: serde_json::from_str(&spec).map_err(json)?,
            state: state.ok_or_else(|| damaged("State is not known"))?,
            totals: totals.transpose().map_err(json)?,
            started: time("Started").ok_or_else(|| damaged("Started is missing"))?,
            ended: time("Ended"),
            etag: row.etag().cloned(),
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::JobKind;
    use super::*;
    use crate::scan::Bounds;
    use crate::transfer::Source;

    /// A job that counts the rows of a table `people`.
    pub(in crate::fleet) fn count() -> JobSpec {
        JobSpec {
            kind: JobKind::Count,
            source: Source {
                endpoint: "http://127.0.0.1/a".to_owned(),
                table: "People".to_owned(),
                filter: Some("n eq 1".to_owned()),
                select: Vec::new(),
                bounds: Bounds::of_prefix("a"),
            },
            page_rows: 2,
            step_rows: 10,
            tries: 5,
            visibility_seconds: 30,
            rows_expected: None,
        }
    }

    #[test]
    fn a_job_is_stored_and_read() {
        let mut job = Job::new(count());
        assert_eq!(Job::read(&job.entity().unwrap()).unwrap(), job);
        (job.state, job.ended) = (JobState::Failed, Some(DateTime::UNIX_EPOCH));
        job.totals = Some(Tally {
            rows: 3,
            ..Tally::default()
        });
        assert_eq!(Job::read(&job.entity().unwrap()).unwrap(), job);
        let mut row = job.entity().unwrap();
        row.insert("State", "odd");
        assert!(matches!(Job::read(&row), Err(FleetError::Damaged { .. })));
    }

    #[test]
    fn ids_are_valid_in_names_of_queues() {
        let mut spec = count();
        spec.source.table = "X".repeat(63);
        for spec in [count(), spec] {
            let name = Job::new(spec).queue_name();
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            assert!(name.len() <= 63 && name.chars().all(plain), "{name}");
            assert!(!name.contains("--"), "{name}");
        }
    }
}
