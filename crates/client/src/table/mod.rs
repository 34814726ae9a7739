//! The Table service: clients, entities, filters and queries. Each operation has a separate file with its name.

mod create_table;
mod delete_entity;
mod delete_table;
mod entity;
mod entity_group_transaction;
mod filter;
mod get_entity;
mod insert_entity;
mod log_tail;
mod page;
mod query_entities;
mod query_tables;
mod read_back;
mod rename_table;
mod service_client;
mod service_properties;
mod service_stats;
mod table_acl;
mod table_client;
mod table_request;
mod table_settings;
mod truncate_table;
mod update_entity;
mod write_proof;

pub use entity::{ConvertError, ETag, Entity, EntityIter};
pub use entity_group_transaction::{TransactionAction, TransactionOutcome};
pub use filter::{Filter, PropertyFilter};
pub use log_tail::{FollowOptions, Followed, InvalidLogTailKey, LogFollow, LogTail, LogTailKey};
pub use page::{Continuation, EntityStream, InvalidContinuation, Page, PageStream, QueryOptions};
pub use query_tables::TableStream;
pub use service_client::TableServiceClient;
pub use table_client::{IfMatch, TableClient, UpdateMode};

use table_client::{body_of, etag_of};
