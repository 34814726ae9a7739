//! The Table protocol: operations and resources, rights, entities as OData JSON, filters, batches, continuation tokens.
//!
//! This module uses the shared parts at the top of the crate, which do not depend on it. Its files are named by payload
//! (`json`, `filter`, `batch`), because most operations share a few payloads.

mod accept;
mod auth;
mod batch;
mod error;
mod extension;
mod filter;
mod json;
mod operation;
mod query_options;
mod resource;
mod routing;
mod select;
mod token;

pub use accept::{MetadataLevel, Prefer, check_content_type};
pub use auth::{Access, SignedRequest, TableRules, TableSas, TableSasTerms};
pub use batch::{
    AnswerPart, Batch, BatchRefusal, BatchRequestWriter, BatchWriter, ContentId, NextPage, Part,
    PartOutcome, read_batch, read_batch_answer,
};
pub use error::{
    BodyForm, ERROR_CODES, asks_for_json, error_form, write_error_json, write_error_xml,
};
pub use extension::{
    TableSettings, read_rename, read_table_settings, write_rename, write_table_settings,
};
pub use filter::{FILTER_BYTES_MAX, FILTER_DEPTH_MAX, InvalidFilter, check_filter, parse_filter};
pub use json::{
    EntityBody, EntityFormat, EntityWriter, MEMBERS_MAX, PageReader, RowReader, TableWriter,
    code_of_limit, entity_url, push_entity_path, push_value_text, read_entity, read_properties,
    read_row, read_table_name, read_value_text, table_url, write_entity, write_table_name,
};
pub use operation::Operation;
pub use query_options::{check_query_options, parse_top};
pub use resource::{Resource, invalid_path};
pub use routing::tunnelled_method;
pub use select::{SELECT_BYTES_MAX, SELECT_NAMES_MAX, Select};
pub use token::{read_entity_token, read_table_token, write_entity_token, write_table_token};

/// The permissions of a stored access policy of a table, in the order in which clients write them.
pub const POLICY_PERMISSIONS: &str = "raud";
