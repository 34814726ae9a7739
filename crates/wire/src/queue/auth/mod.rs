//! Rights of the Queue service, and its forms of Shared Key and of service signatures.

mod access;
mod canonical;
mod sas;
mod shared_key;
#[cfg(test)]
mod tests;

pub use access::{Access, QueueRules};
pub use sas::{QueueSas, QueueSasTerms};
pub use shared_key::SignedRequest;
