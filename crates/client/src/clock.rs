//! The wall time for dates of requests. The client may not know `rt`, whose clock serves the rooms of the server: an SDK must
//! not bring an object store along.

use partita_model::DateTime;
use std::time::SystemTime;

/// Now, by the clock of the machine: not by the service's, which may differ.
#[must_use]
#[allow(
    clippy::disallowed_methods,
    reason = "the client's one place that reads the wall clock"
)]
pub fn now() -> DateTime {
    DateTime::from_system(SystemTime::now())
}
