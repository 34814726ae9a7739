//! The Table protocol: reads requests, calls the Table service, writes replies. Every operation has a file of its name.

mod answer;
mod authenticate;
mod below_table;
mod call;
mod changes;
mod create_table;
mod delete_entity;
mod delete_table;
mod entity_group_transaction;
mod explain;
mod failure;
mod get_entity;
mod get_table;
mod headers;
mod insert_entity;
mod preflight;
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

use super::Front;
use super::listener::listen;
use super::reply::Reply;
use call::{AuthorizedRequest, Call};
use failure::Refused;
use partita_model::limits::PAGE_ENTITIES_MAX;
use partita_model::{Filter, TableName};
use partita_rt::Tasks;
use partita_rt::net::Listener;
use partita_table::{Error, Service, Table};
use partita_wire::table::{Operation, Resource, check_query_options, parse_filter, parse_top};
use partita_wire::{Failure, Query};
use std::sync::Arc;

/// The reply of an operation, or why it is refused.
type Outcome = Result<Reply, Refused>;

/// The front of the Table service.
#[derive(Debug)]
pub struct TableFront {
    front: Front,
    service: Arc<Service>,
}

impl TableFront {
    /// A front of a service.
    pub const fn new(front: Front, service: Arc<Service>) -> Self {
        Self { front, service }
    }

    /// Accepts connections until shutdown, each a task of `tasks`.
    pub async fn listen(self: Arc<Self>, listener: Box<dyn Listener>, tasks: Tasks) {
        listen(self, listener, tasks).await;
    }
}

/// Performs the operation.
async fn run(call: &Call<'_>, request: &AuthorizedRequest<'_>) -> Outcome {
    if let Resource::BelowTable { has_one_key, .. } = request.resource {
        return below_table::run(call, request, has_one_key).await;
    }
    match request.operation {
        Operation::QueryTables => query_tables::run(call, request).await,
        Operation::GetTable => get_table::run(call, request).await,
        Operation::CreateTable => create_table::run(call, request).await,
        Operation::DeleteTable => delete_table::run(call, request).await,
        Operation::QueryEntities => query_entities::run(call, request).await,
        Operation::GetEntity => get_entity::run(call, request).await,
        Operation::InsertEntity => insert_entity::run(call, request).await,
        Operation::UpdateEntity
        | Operation::MergeEntity
        | Operation::InsertOrReplaceEntity
        | Operation::InsertOrMergeEntity => update_entity::run(call, request).await,
        Operation::DeleteEntity => delete_entity::run(call, request).await,
        Operation::EntityGroupTransaction => entity_group_transaction::run(call, request).await,
        Operation::GetTableAcl => table_acl::get(call, request).await,
        Operation::SetTableAcl => table_acl::set(call, request).await,
        Operation::GetTableSettings => table_settings::get(call, request).await,
        Operation::SetTableSettings => table_settings::set(call, request).await,
        Operation::RenameTable => rename_table::run(call, request).await,
        Operation::TruncateTable => truncate_table::run(call, request).await,
        Operation::GetTableServiceProperties => service_properties::get(call, request).await,
        Operation::SetTableServiceProperties => service_properties::set(call, request).await,
        Operation::GetTableServiceStats => Ok(service_stats::run(call)),
        Operation::Preflight => preflight::run(call, &request.target).await,
    }
}

/// The table of an operation on entities. The service's own tables, such as `$Metrics…`, do not exist here: their names
/// are not valid as [`TableName`].
async fn find_table(
    call: &Call<'_>,
    request: &AuthorizedRequest<'_>,
    name: &str,
) -> Result<Arc<Table>, Refused> {
    let name = TableName::new(name).map_err(|_| Error::TableNotFound)?;
    let service = call.service();
    Ok(service.table(&request.account.name, &name).await?)
}

/// The options of both kinds of query: the filter, and the largest number of rows on the page.
fn page_options(query: Query<'_>) -> Result<(Option<Filter>, usize), Failure> {
    check_query_options(query)?;
    let filter = query.get("$filter")?;
    let filter = filter.as_deref().map(parse_filter).transpose()?;
    let top = query.get("$top")?;
    let top = top.map_or(Ok(PAGE_ENTITIES_MAX), |text| parse_top(&text))?;
    Ok((filter, top))
}
