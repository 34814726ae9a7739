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
mod place;
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
use super::protocol::{Exchange as _, Outcome};
use super::refused::Refused;
use super::reply::Reply;
use call::{AuthorizedRequest, Call};
use partita_model::limits::PAGE_ENTITIES_MAX;
use partita_model::{Filter, TableName};
use partita_rt::Tasks;
use partita_rt::net::Listener;
use partita_table::{Error, Service, Table};
use partita_wire::table::{Operation, Resource, check_query_options, parse_filter, parse_top};
use partita_wire::{Failure, Query};
use std::sync::Arc;

/// The front of the Table service.
#[derive(Debug)]
pub struct TableFront {
    front: Front,
    /// `None` in a server of a cluster, which may serve a store or not.
    service: Option<Arc<Service>>,
}

impl TableFront {
    /// A front of a service, or of what the membership of the server serves.
    pub const fn new(front: Front, service: Option<Arc<Service>>) -> Self {
        Self { front, service }
    }

    /// Accepts connections until shutdown, each a task of `tasks`.
    pub async fn listen(self: Arc<Self>, listener: Box<dyn Listener>, tasks: Tasks) {
        listen(self, listener, tasks).await;
    }
}

/// Performs the operation.
async fn run(call: &Call<'_>, request: &AuthorizedRequest<'_>) -> Outcome {
    if let Resource::BelowTable { has_one_key, .. } = request.own.resource {
        return below_table::run(call, request, has_one_key).await;
    }
    macro_rules! run {
        ($($($operation:ident)|+ => $room:ident::$function:ident,)*) => {
            match request.operation {
                $($(Operation::$operation)|+ => $room::$function(call, request).await,)*
                Operation::GetTableServiceStats => Ok(service_stats::run(call)),
                Operation::Preflight => call.preflight(&request.target).await,
            }
        };
    }
    run! {
        QueryTables => query_tables::run,
        GetTable => get_table::run,
        CreateTable => create_table::run,
        DeleteTable => delete_table::run,
        QueryEntities => query_entities::run,
        GetEntity => get_entity::run,
        InsertEntity => insert_entity::run,
        UpdateEntity | MergeEntity | InsertOrReplaceEntity | InsertOrMergeEntity => update_entity::run,
        DeleteEntity => delete_entity::run,
        EntityGroupTransaction => entity_group_transaction::run,
        GetTableAcl => table_acl::get,
        SetTableAcl => table_acl::set,
        GetTableSettings => table_settings::get,
        SetTableSettings => table_settings::set,
        RenameTable => rename_table::run,
        TruncateTable => truncate_table::run,
        GetTableServiceProperties => service_properties::get,
        SetTableServiceProperties => service_properties::set,
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
    let service = call.service()?;
    Ok(service.table(&request.account.name, &name).await?)
}

/// The table of an operation on entities; `None` if it does not exist.
async fn find_table_if_any(
    call: &Call<'_>,
    request: &AuthorizedRequest<'_>,
) -> Result<Option<Arc<Table>>, Refused> {
    let missing = Refused::from(Error::TableNotFound).0.code;
    match find_table(call, request, request.table()).await {
        Ok(table) => Ok(Some(table)),
        Err(refused) if refused.0.code == missing => Ok(None),
        Err(refused) => Err(refused),
    }
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
