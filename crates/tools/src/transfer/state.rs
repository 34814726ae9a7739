//! The progress file of an import or a copy, from which a stopped run resumes.
//!
//! The file contains the arguments of the job, so that a run with other arguments cannot resume it, and a mark: all
//! rows before the mark are written. Rows after the mark may be written too. Writing these rows again changes nothing,
//! or finds that an equal row exists.

use super::blocking::blocking;
use super::observer::{Event, Observer};
use super::{TransferError, WriteOptions, atomic_file, manifest};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;

const STATE_KIND: &str = "partita-transfer";
const STATE_VERSION: u64 = 1;
/// The member of a job that describes its source: for an import, a list of checksums.
pub(super) const JOB_FROM: &str = "from";
/// Maximum size of a progress file, in bytes: enough for the token of a scan with some thousand open steps.
const STATE_BYTES_MAX: u64 = 16 * 1024 * 1024;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedState<M> {
    kind: String,
    version: u64,
    job: serde_json::Value,
    mark: Option<M>,
}

/// Saves the marks of a job in its progress file.
pub(super) struct Checkpoint<M> {
    path: Option<PathBuf>,
    job: serde_json::Value,
    observer: Arc<dyn Observer>,
    /// The last mark that was reached, if it is not yet saved.
    unsaved: Option<M>,
    /// Rows written since the last save.
    rows_since: u64,
    rows_between_marks: u64,
}

/// A job that has begun or resumed.
pub(super) struct StartedJob<M> {
    pub(super) checkpoint: Checkpoint<M>,
    /// Where to continue; `None` at the start.
    pub(super) mark: Option<M>,
    /// Whether an earlier run may have written rows after the mark.
    pub(super) is_resumed: bool,
}

impl<M: Serialize + DeserializeOwned + Send + 'static> Checkpoint<M> {
    /// Begins or resumes a job.
    ///
    /// # Errors
    /// [`TransferError::AlreadyThere`] if there is a progress file but [`WriteOptions::resume`] is not set,
    /// [`TransferError::OtherJob`] if the file belongs to a job with other arguments, [`TransferError::InputChanged`] if
    /// only the imported files differ, and errors of reading or writing the file.
    pub(super) async fn begin(
        options: &WriteOptions,
        job: serde_json::Value,
        observer: &Arc<dyn Observer>,
    ) -> Result<StartedJob<M>, TransferError> {
        let checkpoint = Self {
            // A dry run has no progress file.
            path: options.state.clone().filter(|_| !options.dry_run),
            job,
            observer: Arc::clone(observer),
            unsaved: None,
            rows_since: 0,
            rows_between_marks: options.rows_between_marks,
        };
        let mut started = StartedJob {
            checkpoint,
            mark: None,
            is_resumed: false,
        };
        let Some(path) = started.checkpoint.path.clone() else {
            return Ok(started);
        };
        let found = path.clone();
        let state = blocking(move || {
            manifest::load::<SavedState<M>>(&found, STATE_KIND, STATE_VERSION, STATE_BYTES_MAX)
        });
        let Some(state) = state.await? else {
            // The file must exist before rows are written. Otherwise a killed run would leave rows, but nothing to
            // resume from.
            started.checkpoint.save(None).await?;
            return Ok(started);
        };
        if !options.resume {
            return Err(TransferError::AlreadyThere(path));
        }
        if state.job != started.checkpoint.job {
            return Err(if differs_in_input(&state.job, &started.checkpoint.job) {
                TransferError::InputChanged(path)
            } else {
                TransferError::OtherJob(path)
            });
        }
        started.mark = state.mark;
        started.is_resumed = true;
        Ok(started)
    }

    /// Counts written rows. They may be before or after the last mark.
    pub(super) fn written(&mut self, rows: u64) {
        self.rows_since += rows;
    }

    /// Records that all rows before the mark are written. Saves the mark if `rows_between_marks` rows were written
    /// since the last save.
    pub(super) async fn reached(&mut self, mark: M) -> Result<(), TransferError> {
        self.unsaved = Some(mark);
        if self.rows_since >= self.rows_between_marks {
            self.flush().await?;
        }
        Ok(())
    }

    /// Saves the last mark, if it is not yet saved.
    pub(super) async fn flush(&mut self) -> Result<(), TransferError> {
        if let Some(mark) = self.unsaved.take() {
            self.rows_since = 0;
            self.save(Some(mark)).await?;
        }
        Ok(())
    }

    /// Ends the job and removes its progress file.
    pub(super) async fn end(self) -> Result<(), TransferError> {
        match self.path {
            Some(path) => blocking(move || atomic_file::remove(&path)).await,
            None => Ok(()),
        }
    }

    async fn save(&self, mark: Option<M>) -> Result<(), TransferError> {
        let Some(path) = self.path.clone() else {
            return Ok(());
        };
        let state = SavedState {
            kind: STATE_KIND.to_owned(),
            version: STATE_VERSION,
            job: self.job.clone(),
            mark,
        };
        blocking(move || manifest::save(&path, &state)).await?;
        self.observer.event(&Event::Saved);
        Ok(())
    }
}

/// Whether two jobs are imports that differ only in the checksums of their files.
fn differs_in_input(a: &serde_json::Value, b: &serde_json::Value) -> bool {
    let rest = |job: &serde_json::Value| {
        let mut job = job.clone();
        let from = job.as_object_mut().and_then(|job| job.remove(JOB_FROM));
        from.is_some_and(|from| from.is_array()).then_some(job)
    };
    rest(a).is_some_and(|a| Some(a) == rest(b))
}
