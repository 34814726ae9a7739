//! The only doors to the world: time, randomness, tasks and the place where bytes are kept.
//!
//! Everything above this crate takes its clock, its random bytes, its background tasks and its object store from here, so
//! that a test (and later a simulation) can put another world behind the same doors. The crate knows nothing of tables,
//! entities or the protocol.
//!
//! - [`clock`]: wall time and monotonic time, real or set by hand.
//! - [`random`]: bytes from the operating system, and a fast generator for ids that need no secrecy.
//! - [`hash`]: seeds of hash tables.
//! - [`tasks`]: named background tasks, and the signal that ends them.
//! - [`threads`]: threads with runtimes of their own, and blocking work.
//! - [`world`]: the machine's world or a simulated one, in which nothing starts a thread.
//! - [`net`]: listeners and connections, of the machine or of a simulation.
//! - [`place`]: directories and object stores elsewhere, by path or URL.
//! - [`data_dir`]: the data directory: locked, versioned, swept, with the object store in it.

pub mod clock;
pub mod data_dir;
pub mod hash;
pub mod net;
pub mod place;
pub mod random;
pub mod tasks;
pub mod threads;
pub mod world;

pub use clock::{Clock, ManualClock, SystemClock};
pub use data_dir::DataDir;
pub use place::Place;
pub use tasks::{Shutdown, Tasks};
