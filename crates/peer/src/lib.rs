//! Calls between the servers of a cluster: HTTP/2 streams over mutual TLS.
//!
//! ```text
//!  front ─▶ policy: hold, send, send again, give up
//!             │
//!           forward: the request as bytes ─▶ transport: a stream ─▶ TLS, both sides verified ─▶ the owner's handler
//! ```
//!
//! - [`key`]: the cluster key. Every server has the file, and issues itself a certificate with its name from it.
//! - [`transport`]: the server and the pool of connections. A failed send says whether the request was *not processed*
//!   or *may have been*.
//! - [`forward`]: the forwarded request and its answer as bytes.
//! - [`rows`]: reading and changing rows of another server, as bytes.
//! - [`policy`]: what a front does with a request that it forwards, as a state machine without I/O.
//!
//! Invariants:
//! - a connection exists only between holders of the same cluster key, and its server has the name that was asked for;
//! - [`SendError::NotProcessed`] is returned only if no handler has seen the request, now or later;
//! - every queue, body and wait has a bound, which [`Settings`] names.

pub mod forward;
pub mod key;
pub mod policy;
pub mod rows;
pub mod transport;

pub use key::{ClusterKey, Identity, InvalidName, KeyError, ServerName};
pub use transport::{
    Address, Answer, Body, BodyError, Class, ConnectError, Handler, InvalidAddress, NotProcessed,
    Outcome, Peer, Peers, Received, Refuse, Reply, SendError, Server, Settings, Unknown,
};
