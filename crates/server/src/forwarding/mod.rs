//! A server of a cluster: it serves a range, or forwards requests to the server that does.
//!
//! ```text
//!  front, after authentication ─▶ Membership: here?  ─▶ the store that Hosting has ─▶ gate ─▶ answer
//!                                     │ elsewhere
//!                                     └▶ hold, send, send again ─▶ peer: Receiver ─▶ store ─▶ gate ─▶ answer
//! ```
//!
//! - [`Routing`] says who serves a key. [`RegistryRouting`] reads it from the coordinator.
//! - [`Hosting`] has the store that this server serves, in a tenure, behind an [`AnswerGate`].
//! - [`Membership`] joins the two, and drives forwarded requests by the rules of `partita_peer::policy`.
//!
//! An embedded server has no membership: its requests pass none of this. `docs/design/0011-forwarding.md` describes the
//! protocol.
//!
//! Invariants:
//! - an answer that depends on the store leaves only through the gate of the tenure that it was made in;
//! - a forwarded request is executed only by the server that serves the range in the tenure that the request names;
//! - a forwarded request is never forwarded again.

mod far_rows;
mod gate;
mod host_link;
mod hosting;
mod life_gate;
mod membership;
mod outgoing;
mod registry_routing;
mod rights;
mod routing;
#[cfg(test)]
pub(crate) mod tests;
mod unowned;

pub use gate::AnswerGate;
pub use hosting::{Hosted, Hosting};
pub use membership::Membership;
pub use registry_routing::{PEER_ADDRESS, QUEUE_URL, RegistryRouting, TABLE_URL};
pub use routing::{Owner, OwnerAddress, Place, Routing};

pub(crate) use far_rows::PeerRows;
pub(crate) use gate::PATIENCE as GATE_PATIENCE;
pub(crate) use host_link::{ADMIN_VERSION, HOST_VERSION};
pub(crate) use life_gate::LifeGate;
pub(crate) use outgoing::{Done, NotForwarded, Outgoing};
pub(crate) use rights::{grant_of, rights_of};
pub(crate) use unowned::Unowned;
