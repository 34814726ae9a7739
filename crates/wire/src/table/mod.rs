//! The Table protocol: entities as OData JSON, filters, batches, continuation tokens, and what URLs and methods mean.

mod accept;
mod batch;
mod extension;
mod filter;
pub(crate) mod json;
mod operation;
mod resource;
mod select;
mod token;
mod top;

pub use accept::{MetadataLevel, Prefer, Version};
pub use batch::{
    AnswerPart, Batch, BatchRefusal, BatchRequestWriter, BatchWriter, ContentId, NextPage, Part,
    PartOutcome, read_batch, read_batch_answer,
};
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
pub use resource::Resource;
pub use select::{SELECT_BYTES_MAX, SELECT_NAMES_MAX, Select};
pub use token::{EntityToken, TableToken};
pub use top::parse_top;
