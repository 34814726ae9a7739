//! The write-ahead log of a process: what makes a write durable before it is answered.
//!
//! - [`local`] keeps it in segments of a directory.

mod range_id;

pub mod local;

pub use range_id::RangeId;
