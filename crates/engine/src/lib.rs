//! Ordered byte keys with atomic, durable batches.
//!
//! An engine maps byte keys to byte values in key order. It has no concept of tables or entities: the crates above it
//! define the meaning of keys and values, lock the keys they change, and check conditions. The engine makes batches
//! durable in groups and reads durable rows.
//!
//! - [`Engine`] is the interface to one range: [`Engine::reserve`] → [`Permit::submit`] → completion, [`Engine::get`],
//!   [`Engine::scan`].
//! - [`EngineSet`] is the interface to all ranges of a process: opening, cloning, removing, pinning.
//! - [`slate`] keeps rows in SlateDB over an object store and a common write-ahead log (WAL), with one sync for each
//!   group.
//! - [`memory`] keeps them in memory, for tests and throw-away servers.
//! - `conformance` is the suite that every engine passes (feature `conformance`).
//!
//! A failed write was either *refused*, so it never takes effect, or its outcome is *unknown* ([`WriteError`]).

mod batch;
mod damaged_file;
mod engine;
mod engine_set;
mod error;
mod health;
mod pin;
mod pipeline;
mod rows;
mod scrub;
mod stats;
mod stored;

#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
pub mod memory;
#[cfg(feature = "planted-bugs")]
pub mod planted;
pub mod slate;

pub use batch::{Batch, Write};
pub use damaged_file::DamagedFile;
pub use engine::{Collected, Engine, FileLayout, KeyRange, Scan, ScanHint};
pub use engine_set::{EngineSet, KeyPart, Removal};
pub use error::{ChangeError, OpenError, ReadError, Refusal, WriteError};
pub use health::Health;
pub use partita_wal::RangeId;
pub use partita_wal::remote::Life as LogNumber;
pub use pin::{FileUse, HeldRanges, PinId, Pinned, PinnedRows};
pub use pipeline::{Completion, Permit};
pub use rows::{IntoRows, Rows};
pub use scrub::{LogFault, Meter, NoMeter, ScrubPass};
pub use stats::{DiskCacheStats, Distribution, EngineMetric, Stats, StoredBytes, WrittenBytes};
pub use stored::{StoredDatabase, StoredFiles, StoredRanges};
