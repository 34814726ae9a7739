//! What a front does with a request that it forwards: hold, send, send again, give up. A state machine without I/O.
//!
//! ```text
//!            ┌──────────── not sent, or 421 ────────────┐
//!            ▼                                          │
//!  begin ─▶ held ─▶ sent to the owner that the map names ─▶ answered: passed on
//!            │                                          │
//!            └▶ 503: not executed                       └▶ broken: a read is sent once more; a write is unknown
//! ```
//!
//! - [`Forwarding`] is one request. Its driver reports what happens as [`Event`]s, with the time, and does what the
//!   [`Action`] says.
//! - [`Holds`] counts the requests that a front holds.
//!
//! Rules, by their names in `docs/design/0007-cluster-model.md`:
//! - `WriteSentOnce`, `SentWriteIsUnknown`: a write whose connection broke after it was sent is not sent again and is
//!   answered as unknown;
//! - `ReadSentAgain`: a read whose connection broke is sent again, once, and is never answered as unknown;
//! - `WaitsForRevision`: after a 421 the request waits until the map has the revision that the 421 names.
//!
//! A request that was not sent costs no try: it waits for a newer map or a short pause, because the map names a dead
//! owner until its lease has ended.

mod forwarding;
mod holds;
#[cfg(test)]
mod tests;

pub use forwarding::{Action, Event, Forwarding, Kind, Route, Time};
pub use holds::{HELD_BYTES_MAX, HELD_REQUESTS_MAX, Holds};
