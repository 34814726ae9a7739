//! Rights of the Table service, and its forms of Shared Key and of service signatures.

mod access;
mod sas;
mod shared_key;
#[cfg(test)]
mod tests;

pub use access::{Access, Role};
pub use sas::{TableSas, TableSasTerms, VerifiedTableSas};
pub use shared_key::SignedRequest;
