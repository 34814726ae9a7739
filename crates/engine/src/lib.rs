//! Ordered byte keys with atomic, durable batches.
//!
//! An engine maps byte keys to byte values in key order. It has never heard of a table or an entity: the rooms above
//! decide what keys and values mean, lock what they change, and check conditions; the engine makes batches durable in
//! groups and reads what is durable.
//!
//! - [`Engine`] is the seam: [`Engine::reserve`] → [`Permit::submit`] → completion, [`Engine::get`], [`Engine::scan`].
//! - [`slate::SlateEngine`] keeps its rows in SlateDB over a directory, with one log and one sync for each group.
//! - [`memory::MemoryEngine`] keeps them in memory, for tests and throw-away servers.
//! - `conformance` is the suite that every engine passes (feature `conformance`).
//!
//! Two words carry the failure story ([`WriteError`]): *refused* means it did not happen and never will, *unknown* means it
//! may have happened.

mod batch;
mod engine;
mod engine_set;
mod error;
mod health;
mod pin;
mod pipeline;
mod stats;

#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
pub mod memory;
pub mod slate;

pub use batch::{Batch, Write};
pub use engine::{Engine, KeyRange, Scan, ScanHint};
pub use engine_set::{ChangeError, Collected, EngineSet, FileLayout, KeyPart, Removal};
pub use error::{OpenError, ReadError, Refusal, WriteError};
pub use health::Health;
pub use partita_wal::RangeId;
pub use pin::{FileUse, PinId, Pinned, PinnedRows};
pub use pipeline::{Completion, Permit};
pub use stats::{Distribution, EngineFigure, Stats};
