//! The Table protocol as pure functions: bytes and text to types, and back. Server and client stand on the same ones.
//!
//! Nothing here does I/O, waits, or reads a clock, and no HTTP library is known: headers come as `&str`, bodies as
//! `&[u8]`. Everything that a stranger can send is parsed here, is bounded, and never panics.

mod accept;
pub mod admin;
mod auth;
mod batch;
mod content_md5;
mod cors;
mod cut;
mod date;
mod error;
mod extension;
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
    Access, AccountKey, AccountKeys, AccountSas, AccountSasTerms, BearerRules, Caller, Credentials,
    InvalidAccountKey, InvalidJwks, Jwks, KeyBound, KeyRange, Role, SKEW_MINUTES_MAX, SasTerms,
    SharedKey, SignedRequest, TableSas, TableSasTerms, VerifiedTableSas, challenge,
};
pub use batch::{
    AnswerPart, Batch, BatchRefusal, BatchRequestWriter, BatchWriter, ContentId, NextPage, Part,
    PartOutcome, read_batch, read_batch_answer,
};
pub use content_md5::check_content_md5;
pub use cors::{CorsGrant, Preflight, PreflightGrant, varies_by_origin};
pub use date::{HttpDate, parse_http_date};
pub use error::{BodyForm, ErrorBody, ErrorCode, Failure, Occurrence};
pub use extension::{
    TableSettings, read_rename, read_table_settings, write_rename, write_table_settings,
};
pub use filter::{FILTER_BYTES_MAX, FILTER_DEPTH_MAX, parse_filter};
pub use json::{
    EntityBody, EntityFormat, EntityWriter, MEMBERS_MAX, PageReader, RowReader, TableWriter,
    code_of_limit, entity_url, push_entity_path, push_entity_url, push_value_text, read_entity,
    read_row, read_table_name, read_value_text, table_url, write_entity, write_table_name,
};
pub use operation::Operation;
pub use select::{SELECT_BYTES_MAX, SELECT_NAMES_MAX, Select};
pub use token::{EntityToken, TableToken};
pub use top::parse_top;
pub use uri::{
    Hosts, Method, Query, Resource, Style, TIMEOUT_SECONDS_MAX, Target, push_query_parameter,
};
pub use xml::{
    GeoReplication, ServicePropertiesUpdate, read_service_stats, read_signed_identifiers,
    write_service_properties, write_service_stats, write_signed_identifiers,
};
