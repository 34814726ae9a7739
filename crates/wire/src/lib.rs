//! The storage protocols as pure functions between bytes and types, for server and client; and the types of the admin
//! API.
//!
//! The top level holds the parts that all storage protocols share: request targets, credentials, CORS, dates, error
//! codes, XML bodies. Each protocol has its own folder, such as [`table`]; a new protocol does not change the others.
//!
//! The crate does no I/O, does not wait, and reads no clock. It uses no HTTP library: headers are `&str`, bodies are
//! `&[u8]`. Every function that reads untrusted input limits its size and never panics.

pub mod admin;
mod auth;
mod content_md5;
mod cors;
mod date;
mod error;
mod error_body;
mod json;
mod operation;
mod owner_hint;
pub mod queue;
mod service_kind;
mod split;
pub mod table;
#[cfg(test)]
mod testing;
mod uri;
mod version;
mod xml;

pub use auth::{
    Access, AccessRules, AccountGrant, AccountKey, AccountKeys, AccountSas, AccountSasTerms,
    BearerRules, Caller, Credentials, InvalidAccountKey, InvalidJwks, Jwks, Needs, Rights,
    SKEW_MINUTES_MAX, SasTerms, ServiceSas, SharedKey, TokenRoles, VerifiedSas, challenge,
    challenged,
};
pub use content_md5::check_content_md5;
pub use cors::{CorsGrant, Preflight, PreflightGrant, varies_by_origin};
pub use date::{HttpDate, http_date, parse_http_date};
pub use error::{COMMON_ERROR_CODES, ErrorCode, Failure, Hint, Occurrence, invalid_name};
pub use error_body::ErrorBody;
pub use operation::ServiceOperation;
pub use owner_hint::{ASKS_FOR_OWNER, HintedOwner, OWNER_HEADER, OwnerHint};
pub use service_kind::ServiceKind;
pub use uri::{
    Hosts, Method, Query, Style, TIMEOUT_SECONDS_MAX, Target, decode_path, push_query_parameter,
};
pub use version::Version;
pub use xml::{
    GeoReplication, ServicePropertiesUpdate, read_service_stats, read_signed_identifiers,
    write_service_properties, write_service_stats, write_signed_identifiers,
};
