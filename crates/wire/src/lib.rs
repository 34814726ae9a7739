//! The Table protocol as pure functions: bytes and text to types, and back. Server and client stand on the same ones.
//!
//! Nothing here does I/O, waits, or reads a clock, and no HTTP library is known: headers come as `&str`, bodies as
//! `&[u8]`. Everything that a stranger can send is parsed here, is bounded, and never panics.

mod accept;
mod error;
mod operation;
mod uri;

pub use accept::{MetadataLevel, Prefer, Version};
pub use error::{BodyForm, ErrorCode, Failure, Occurrence};
pub use operation::Operation;
pub use uri::{Hosts, Method, Query, Resource, Style, TIMEOUT_SECONDS_MAX, Target};
