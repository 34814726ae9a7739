//! Executes the requests on the messages of a queue, in groups.
//!
//! Each queue executes one group at a time: all requests that arrived while the previous group was being written. A
//! group is one batch, so one write and one sync serve all its requests, and no request waits for more than two syncs.
//!
//! ```text
//! request ─▶ pending ──┐ one task a queue, while requests are pending
//!                      ▼
//!   admission → lock the header → is the state in memory current? else load it
//!             → execute each request on the state, collect changes → commit → answer all
//! ```
//!
//! - `state` is what a queue keeps in memory: the header, and a window of the next messages.
//! - The header's row is locked and compared for each group. So the state may be dropped at any time, and two groups
//!   of one queue, also in different processes, never both commit.
//! - After a failed commit the state is dropped, and the next group loads it again.

mod changes;
mod execute;
mod finish;
mod request;
mod run;
mod state;
mod window;

pub(crate) use request::{Received, Reply, Request, WriteSize};
pub(crate) use run::{OpenQueue, Shared};
