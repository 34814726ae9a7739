//! The states of jobs.

use partita_bulk::named_enum;
use serde::{Deserialize, Serialize};

named_enum! {
    /// The state of a job.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum JobState {
        /// Workers execute its steps.
        Running = "running",
        /// Workers ignore it until it is resumed.
        Stopped = "stopped",
        /// All steps are done.
        Done = "done",
        /// No step is open, and at least one is dead.
        Failed = "failed",
    }
}
