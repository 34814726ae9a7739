//! Metrics of requests and connections, and the page that Prometheus scrapes.
//!
//! The front counts in [`Metrics`]: a request costs a few relaxed additions, no lock, no allocation and no look-up by
//! name. The admin port renders the page from the counts and from the engine's own. `definitions` lists every metric
//! with name, unit and help. Metric names, types and labels never change: dashboards rely on them (a golden test
//! compares them with `families.txt`).

mod counted;
mod counts;
mod definitions;
mod exposition;
mod forwarding;
mod latency;
mod operation;
mod page;
mod process;

pub use counted::Counted;
pub use counts::{Answered, ConnectionFault, Metrics};
pub use operation::Operation;

pub(crate) use counts::{OperationReading, Reading};
pub(crate) use exposition::CONTENT_TYPE;
pub(crate) use forwarding::ForwardOutcome;
pub(crate) use page::{MemberFigures, Surroundings, TargetShare, page};
pub(crate) use process::process_stats;
