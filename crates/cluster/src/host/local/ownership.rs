//! Taking ranges over from another process, and handing them over to the next one.
//!
//! ```text
//!  take over:  seal and replay the logs ─▶ flush ─▶ activate in the registry ─▶ serve
//!  hand over:  flush, while serving ─▶ serve no longer ─▶ wait for running writes ─▶ flush the rest, close
//! ```
//!
//! A request that is running when its range is handed over is answered with what it has read before: at that moment this
//! process was the owner. A later read finds the database closed.

use super::take_over_times::TakeOverStep;
use super::{LocalHost, change};
use crate::coordinator::CoordinatorError;
use crate::error::HostError;
use crate::map::RangeSpec;
use partita_engine::{ChangeError, LogNumber, WriteError};
use partita_range::RangeId;
use std::sync::Arc;
use std::time::Instant;

/// Why a range was not handed over.
#[derive(Debug, thiserror::Error)]
pub enum HandOverError {
    /// This host does not serve the range.
    #[error("range {0} not found")]
    NoSuchRange(RangeId),
    /// A split or merge of the range is under way, or it is frozen.
    #[error("range {0} is being changed or frozen")]
    Busy(RangeId),
    /// The range was not flushed. It is still served.
    #[error(transparent)]
    Flush(#[from] WriteError),
    /// The range is closed, but rows are only in the log of this process: its next owner must seal that log.
    #[error("range {range} was closed, but not everything was written to its files")]
    NotClean {
        /// The range.
        range: RangeId,
        /// The error of the engine.
        source: ChangeError,
    },
}

impl LocalHost {
    /// Opens the database of a range, replays these logs, and serves the range once `activation` allows it. The
    /// activation returns the tenure. `is_assigned` says whether the range is still assigned to this host: it is asked
    /// just before the last owner is locked out of the database. Not cancel safe.
    ///
    /// # Errors
    /// [`HostError`]: the range is not served here, and its next owner needs the same logs.
    pub async fn take_over(
        &self,
        spec: &RangeSpec,
        logs: &[LogNumber],
        is_assigned: impl Future<Output = bool> + Send,
        activation: impl Future<Output = Result<u64, CoordinatorError>>,
    ) -> Result<(), HostError> {
        let range = spec.id;
        let _busy = self.begin(&[range]).ok_or(HostError::Busy(range))?;
        let began = Instant::now();
        let engines = &self.parts.engines;
        let opened = engines.take_over(range, logs, Box::pin(is_assigned)).await;
        let engine = opened.map_err(|source| HostError::Open { range, source })?;
        let opened_at = Instant::now();
        match activation.await {
            Ok(tenure) => {
                let times = &self.take_over_times;
                times.add(TakeOverStep::Open, opened_at - began);
                times.add(TakeOverStep::Activate, opened_at.elapsed());
                let opened = self.range_of(spec, engine, tenure, &[]);
                (self.parts.before_serving)(spec);
                self.serve(&[], vec![opened]);
                Ok(())
            }
            Err(error) => {
                engine.close().await;
                Err(error.into())
            }
        }
    }

    /// Hands a range over: its next owner finds everything in its files. Not cancel safe.
    ///
    /// # Errors
    /// [`HandOverError`].
    pub async fn hand_over(&self, id: RangeId) -> Result<(), HandOverError> {
        let range = self.range(id).ok_or(HandOverError::NoSuchRange(id))?;
        let _busy = self.begin(&[id]).ok_or(HandOverError::Busy(id))?;
        change::flush_most(&range).await?;
        self.serve(&[Arc::clone(&range)], Vec::new());
        range.freeze().await;
        self.keep_last_window(&range);
        self.released.lock().remove(&id);
        self.collected.lock().remove(&id);
        let closed = self.parts.engines.hand_over(id).await;
        closed.map_err(|source| HandOverError::NotClean { range: id, source })
    }

    /// Serves no range from now on, because this process does not own them any more. Their databases stay open until
    /// the engines are closed.
    pub fn stop_serving(&self) {
        let ranges = self.map.ranges();
        let ranges: Vec<_> = ranges
            .iter()
            .map(|served| Arc::clone(&served.range))
            .collect();
        self.serve(&ranges, Vec::new());
    }
}
