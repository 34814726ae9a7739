//! Reads and verifies the credentials of requests, for all services.
//!
//! The steps of a request:
//! 1. [`Credentials::parse`] reads the `Authorization` header and the query: Shared Key, Shared Key Lite, a shared
//!    access signature (of the account or of a service), or a bearer token;
//! 2. the credential's own `verify` checks signature, times, address and protocol;
//! 3. the result becomes the rights in the service, [`Access`], which are checked for every operation and
//!    resource.
//!
//! Strings to sign and service signatures differ between services, so they are in the services' folders.
//!
//! Invariants:
//! - a signature is checked, in constant time, before any data that it covers is used;
//! - every refusal is a [`crate::Failure`] with the service's code (service documents "Authorize with Shared Key",
//!   "Create a service SAS", "Create an account SAS", "SAS Error Codes");
//! - keys and expected signatures never appear in a `Debug` form or in a failure.

mod access;
mod account_sas;
mod bearer;
mod caller;
mod credentials;
mod jwks;
mod key;
mod letters;
mod rights;
mod sas_terms;
mod service_sas;
mod shared_key;
#[cfg(test)]
mod tests;

pub use access::{Access, AccessRules, Needs};
pub use account_sas::{AccountGrant, AccountSas, AccountSasTerms};
pub use bearer::{BearerRules, TokenRoles, challenge, challenged};
pub use caller::Caller;
pub use credentials::{Credentials, ServiceSas};
pub use jwks::{InvalidJwks, Jwks};
pub(crate) use key::mismatch;
pub use key::{AccountKey, AccountKeys, InvalidAccountKey};
pub(crate) use letters::Letters;
pub use rights::Rights;
pub use sas_terms::SasTerms;
pub(crate) use sas_terms::{SignedTerms, push_terms, push_unless_empty, text};
pub use service_sas::VerifiedSas;
pub(crate) use service_sas::resource_root;
pub(crate) use shared_key::signed_paths;
pub use shared_key::{SKEW_MINUTES_MAX, SharedKey};
