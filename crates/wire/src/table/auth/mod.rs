//! Rights of the Table service, and its forms of Shared Key and of service signatures.

mod access;
mod sas;
mod shared_key;
#[cfg(test)]
mod tests;

pub use access::{Access, TableRules};
pub use sas::{TableSas, TableSasTerms};
pub use shared_key::SignedRequest;
