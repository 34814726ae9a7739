//! The cluster key, and the certificates that servers issue themselves from it.
//!
//! The key is the private key (P-256) of a certificate authority, in one file that every server of the cluster has.
//! Nothing else is stored: the certificate of the authority follows from the key, and a server's own certificate exists
//! in memory only. It is valid for a week and is renewed every day, so a long-running process never expires.
//!
//! A certificate has the name of its server as a URI, because the name of a server is any text such as `10.0.0.7:10011`
//! and need not be a host name.

mod authority;
mod cluster_key;
mod identity;
mod server_name;
#[cfg(test)]
mod tests;
mod tls;

pub use cluster_key::{ClusterKey, KeyError};
pub use identity::Identity;
pub use server_name::{InvalidName, ServerName};
pub(crate) use tls::{WrongName, name_of};
