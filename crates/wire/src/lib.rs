//! The Table protocol as pure functions: bytes and text to types, and back. Server and client stand on the same ones.
//!
//! Nothing here does I/O, waits, or reads a clock, and no HTTP library is known: headers come as `&str`, bodies as
//! `&[u8]`. Everything that a stranger can send is parsed here, is bounded, and never panics.

mod accept;
mod auth;
mod batch;
mod cors;
mod date;
mod error;
mod filter;
mod json;
mod operation;
mod select;
mod token;
mod top;
mod uri;
mod xml;

pub use accept::{MetadataLevel, Prefer, Version};
pub use auth::{
    Access, AccountKey, AccountKeys, AccountSas, BearerRules, Caller, Credentials,
    InvalidAccountKey, InvalidJwks, Jwks, KeyBound, KeyRange, Role, SKEW_MINUTES_MAX, SharedKey,
    SignedRequest, TableSas, VerifiedTableSas, challenge,
};
pub use batch::{Batch, BatchRefusal, BatchWriter, ContentId, Part, PartOutcome, read_batch};
pub use cors::{CorsGrant, Preflight, PreflightGrant, varies_by_origin};
pub use date::{HttpDate, parse_http_date};
pub use error::{BodyForm, ErrorCode, Failure, Occurrence};
pub use filter::{FILTER_BYTES_MAX, FILTER_DEPTH_MAX, parse_filter};
pub use json::{
    EntityFormat, EntityWriter, MEMBERS_MAX, TableWriter, code_of_limit, entity_url,
    push_entity_path, push_entity_url, read_entity, read_table_name, table_url,
};
pub use operation::Operation;
pub use select::{SELECT_NAMES_MAX, Select};
pub use token::{EntityToken, TableToken};
pub use top::parse_top;
pub use uri::{Hosts, Method, Query, Resource, Style, TIMEOUT_SECONDS_MAX, Target};
pub use xml::{
    ServicePropertiesUpdate, read_signed_identifiers, write_service_properties,
    write_service_stats, write_signed_identifiers,
};
