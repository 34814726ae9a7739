//! The operations: one file each. They read the request's body, ask the table service, and write the reply.

mod batch;
mod changes;
mod create_table;
mod delete_entity;
mod delete_table;
mod explain;
pub(super) mod failure;
mod get_entity;
mod get_table;
mod insert_entity;
pub(super) mod preflight;
mod query_entities;
mod query_tables;
mod rename_table;
mod service_properties;
mod service_stats;
mod table_acl;
mod table_settings;
mod truncate_table;
mod update_entity;

pub use explain::plan as explain_plan;

use super::context::{Asked, Call};
use super::reply::Reply;
use bytes::Bytes;
use partita_model::limits::PAGE_ENTITIES_MAX;
use partita_model::{Filter, TableName};
use partita_table::Table;
use partita_wire::table::{Operation, check_query_options, parse_filter, parse_top};
use partita_wire::{Failure, Query};
use std::sync::Arc;

/// Does what is asked.
pub(super) async fn run(call: &Call<'_>, asked: &Asked<'_>, body: Bytes) -> Result<Reply, Failure> {
    match asked.operation {
        Operation::QueryTables => query_tables::run(call, asked).await,
        Operation::GetTable => get_table::run(call, asked).await,
        Operation::CreateTable => create_table::run(call, asked, &body).await,
        Operation::DeleteTable => delete_table::run(call, asked).await,
        Operation::QueryEntities => query_entities::run(call, asked).await,
        Operation::GetEntity => get_entity::run(call, asked).await,
        Operation::InsertEntity => insert_entity::run(call, asked, &body).await,
        Operation::UpdateEntity
        | Operation::MergeEntity
        | Operation::InsertOrReplaceEntity
        | Operation::InsertOrMergeEntity => update_entity::run(call, asked, &body).await,
        Operation::DeleteEntity => delete_entity::run(call, asked).await,
        Operation::EntityGroupTransaction => batch::run(call, asked, &body).await,
        Operation::GetTableAcl => table_acl::get(call, asked).await,
        Operation::SetTableAcl => table_acl::set(call, asked, &body).await,
        Operation::GetTableSettings => table_settings::get(call, asked).await,
        Operation::SetTableSettings => table_settings::set(call, asked, &body).await,
        Operation::RenameTable => rename_table::run(call, asked, &body).await,
        Operation::TruncateTable => truncate_table::run(call, asked).await,
        Operation::GetTableServiceProperties => service_properties::get(call, asked).await,
        Operation::SetTableServiceProperties => service_properties::set(call, asked, &body).await,
        Operation::GetTableServiceStats => service_stats::run(call),
        Operation::Preflight => preflight::run(call, &asked.target).await,
    }
}

/// The table of an entity operation. A name that no table can have is not found.
async fn table(call: &Call<'_>, asked: &Asked<'_>, name: &str) -> Result<Arc<Table>, Failure> {
    let Ok(name) = TableName::new(name) else {
        return Err(failure::failure(partita_table::Error::TableNotFound));
    };
    call.front
        .service()
        .table(&asked.account.name, &name)
        .await
        .map_err(failure::failure)
}

/// The name of a table that is asked for itself. A name that no table can have is not found.
fn table_name(asked: &Asked<'_>) -> Result<TableName, Failure> {
    TableName::new(asked.table()).map_err(|_| failure::failure(partita_table::Error::TableNotFound))
}

/// What both kinds of query share: the filter, and the most rows of the page.
fn page_options(query: Query<'_>) -> Result<(Option<Filter>, usize), Failure> {
    check_query_options(query)?;
    let filter = query
        .get("$filter")?
        .map(|text| parse_filter(&text))
        .transpose()?;
    let top = query
        .get("$top")?
        .map_or(Ok(PAGE_ENTITIES_MAX), |text| parse_top(&text))?;
    Ok((filter, top))
}
