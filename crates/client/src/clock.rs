//! The wall clock of requests and logs. The client cannot use `rt`'s clock, because `rt` depends on an object-store
//! library.

use partita_model::DateTime;
use std::time::SystemTime;

/// The current time by the machine's clock, which may differ from the service's.
#[must_use]
#[allow(
    clippy::disallowed_methods,
    reason = "the only place where the client reads the wall clock"
)]
pub fn now() -> DateTime {
    DateTime::from_system(SystemTime::now())
}
