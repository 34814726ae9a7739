//! Who asks, and what they may do.
//!
//! In the order of a request:
//! 1. [`Credentials::parse`] reads the `Authorization` header and the query: Shared Key, Shared Key Lite, a shared access
//!    signature (of the account or of a table), or a bearer token;
//! 2. the credential's own `verify` checks signature, times, address and protocol;
//! 3. the result is an [`Access`], which answers for every operation, table and key.
//!
//! Invariants:
//! - a signature is checked before anything it covers is believed, and in constant time;
//! - every refusal is a [`crate::Failure`] with the code of the service (service documents "Authorize with Shared Key",
//!   "Create a service SAS", "Create an account SAS", "SAS Error Codes");
//! - keys and expected signatures never appear in a `Debug` form or in a failure.

mod access;
mod account_sas;
mod bearer;
mod caller;
mod credentials;
mod jwks;
mod key;
mod key_range;
mod letters;
mod sas;
mod sas_writer;
mod shared_key;
mod table_sas;
#[cfg(test)]
mod tests;

pub use access::{Access, Role};
pub use account_sas::AccountSas;
pub use bearer::{BearerRules, challenge};
pub use caller::Caller;
pub use credentials::Credentials;
pub use jwks::{InvalidJwks, Jwks};
pub use key::{AccountKey, AccountKeys, InvalidAccountKey};
pub use key_range::{KeyBound, KeyRange};
pub use sas_writer::{AccountSasTerms, SasTerms, TableSasTerms};
pub use shared_key::{SKEW_MINUTES_MAX, SharedKey, SignedRequest};
pub use table_sas::{TableSas, VerifiedTableSas};
