//! Access to the operating system: time, randomness, tasks, threads, network and storage.
//!
//! All other crates take their clock, random bytes, background tasks and object store from here, so that a test or a
//! simulation can replace them. The crate does not depend on tables, entities or the protocol.
//!
//! - [`clock`]: wall time and monotonic time, of the machine or set by a test.
//! - [`random`]: random bytes of the operating system, and a fast generator for ids that are not secret.
//! - [`hash`]: seeds of hash tables.
//! - [`tasks`]: named background tasks, and the signal that ends them.
//! - [`threads`]: threads with their own runtimes, and blocking work.
//! - [`world`]: the real world, or a simulated world, in which no thread starts.
//! - [`net`]: listeners and connections, real or simulated.
//! - [`memory`]: the memory that the process may use.
//! - [`place`]: other directories and object stores, by path or URL.
//! - [`data_dir`]: the data directory, with its lock, its format version and its object store.
//! - [`store_layer`]: layers over object stores.

pub mod clock;
pub mod data_dir;
pub mod hash;
mod log_limit;
pub mod memory;
pub mod net;
pub mod place;
pub mod random;
pub mod store_layer;
pub mod tasks;
pub mod threads;
pub mod world;

pub use clock::{Clock, SystemClock};
#[cfg(any(test, feature = "testing"))]
pub use clock::{ManualClock, ShiftedClock, TokioClock};
pub use data_dir::DataDir;
pub use log_limit::LogLimit;
pub use place::Place;
pub use tasks::{Shutdown, Tasks};
