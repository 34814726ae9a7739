//! The Table protocol as pure functions: bytes and text to types, and back. Server and client stand on the same ones.
//!
//! Nothing here does I/O, waits, or reads a clock, and no HTTP library is known: headers come as `&str`, bodies as
//! `&[u8]`. Everything that a stranger can send is parsed here, is bounded, and never panics.

mod auth;
mod content_md5;
mod cors;
mod cut;
mod date;
mod error;
pub mod table;
mod uri;
mod xml;

pub use auth::{
    Access, AccountKey, AccountKeys, AccountSas, AccountSasTerms, BearerRules, Caller, Credentials,
    InvalidAccountKey, InvalidJwks, Jwks, KeyBound, KeyRange, Role, SKEW_MINUTES_MAX, SasTerms,
    SharedKey, SignedRequest, TableSas, TableSasTerms, VerifiedTableSas, challenge,
};
pub use content_md5::check_content_md5;
pub use cors::{CorsGrant, Preflight, PreflightGrant, varies_by_origin};
pub use date::{HttpDate, parse_http_date};
pub use error::{BodyForm, ErrorBody, ErrorCode, Failure, Occurrence};
pub use table::*;
pub use uri::{Hosts, Method, Query, Style, TIMEOUT_SECONDS_MAX, Target, push_query_parameter};
pub use xml::{
    GeoReplication, ServicePropertiesUpdate, read_service_stats, read_signed_identifiers,
    write_service_properties, write_service_stats, write_signed_identifiers,
};
