//! Coordination of the processes of a cluster: who is alive, who is the manager, and who serves which range.
//!
//! ```text
//!  process: join ──▶ Member: its lease, its gate            ─┐
//!                     │ stand                                │
//!                     ▼                                      ├──▶ Registry: etcd, or memory
//!                    Term: assign, replace                   │     keys, transactions, leases, watches
//!  host:    Member: check, activate, release                 │
//!  front:   Routes: the current owner of each key           ─┘
//! ```
//!
//! - [`Registry`] is the small interface to etcd: everything else is written once on top of it. [`MemoryRegistry`] is for
//!   tests and the simulation, [`EtcdRegistry`] for clusters. Both pass the same conformance suite.
//! - [`Member`] is one life of a process: its lease, and the [`Gate`] that every answer passes.
//! - [`Term`] is the term of an elected manager, which assigns ranges.
//! - [`Routes`] is a copy of the keys, kept current by a watch.
//!
//! The comparisons of the transactions are rules I2 to I5 of the checked model (`crates/cluster-model`); the design is in
//! `docs/design/0008-coordination.md`, the keys and values in `docs/format/ownership.md`. The crate knows neither ranges
//! nor databases: a range is an id, an epoch and two keys here.

pub mod etcd;
mod lease;
mod member;
mod ownership;
mod record;
pub mod registry;
mod routes;
mod state_dir;
mod term;
mod version;

pub use etcd::{EtcdConfig, EtcdRegistry};
pub use lease::{Gate, Timing};
pub use member::{JoinError, Member, MemberParts};
pub use ownership::{Assignment, OwnershipError, Tenure};
pub use record::{
    Expulsion, Life, LogNumber, ManagerRecord, MapRecord, Owner, RangeId, RangeRecord, RangeShape,
    RangeState, RecordError, Role, ServerInfo, ServerRecord, VersionRecord,
};
pub use registry::{LeaseId, MemoryRegistry, Registry, RegistryError, Revision};
pub use routes::{Routes, Stored, Table};
pub use state_dir::{StateDir, StateDirError};
pub use term::{ASSIGN_MAX, Election, Placement, Seen, Term, TermError};
pub use version::{ClusterVersion, VersionRefused, Versions};
