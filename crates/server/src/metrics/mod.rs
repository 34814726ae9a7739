//! Metrics: counting on the way of a request, and the page on which Prometheus reads the counts.
//!
//! The front calls [`Metrics`]; a request costs a handful of relaxed additions and no allocation. The admin port renders
//! the page. `definitions` holds every figure with name, unit and help.

mod counts;
mod definitions;
mod exposition;
mod latency;
mod page;
mod process;

pub use counts::{Answered, ConnectionFault, InFlight, Metrics, OpenConnection};

pub(crate) use counts::{OperationReading, Reading};
pub(crate) use exposition::CONTENT_TYPE;
pub(crate) use page::{Surroundings, page};
pub(crate) use process::Process;
