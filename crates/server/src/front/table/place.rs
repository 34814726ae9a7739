//! Where the data of a request is: the key whose server executes it.
//!
//! A request that names no row, or that is refused before a row is read, is executed by the server of the catalog.

use super::{
    AuthorizedRequest, Call, Refused, entity_group_transaction, find_table_if_any, query_entities,
};
use bytes::Bytes;
use partita_table::Service;
use partita_wire::table::{Operation, Resource, read_entity};

/// The key of a request.
///
/// # Errors
/// The table cannot be looked up now.
pub(super) async fn of_request(
    call: &Call<'_>,
    request: &AuthorizedRequest<'_>,
) -> Result<Bytes, Refused> {
    let key = match request.operation {
        Operation::EntityGroupTransaction => {
            match entity_group_transaction::first_operation(call, request) {
                Some(first) => of_operation(call, &first).await?,
                None => None,
            }
        }
        _ => of_operation(call, request).await?,
    };
    Ok(key.unwrap_or_else(Service::place_of_catalog))
}

/// The key of an operation on entities, if it has one.
async fn of_operation(
    call: &Call<'_>,
    request: &AuthorizedRequest<'_>,
) -> Result<Option<Bytes>, Refused> {
    if matches!(request.own.resource, Resource::BelowTable { .. }) {
        return Ok(None);
    }
    match request.operation {
        Operation::QueryEntities => query_entities::place(call, request).await,
        Operation::InsertEntity => {
            let draft = read_entity(&request.body).ok();
            let keys = draft.and_then(|draft| draft.partition_key.zip(draft.row_key));
            match keys {
                Some((partition, row)) => of_entity(call, request, &partition, &row).await,
                None => Ok(None),
            }
        }
        Operation::GetEntity
        | Operation::UpdateEntity
        | Operation::MergeEntity
        | Operation::InsertOrReplaceEntity
        | Operation::InsertOrMergeEntity
        | Operation::DeleteEntity => match request.own.resource.keys() {
            Some((partition, row)) => of_entity(call, request, partition, row).await,
            None => Ok(None),
        },
        _ => Ok(None),
    }
}

/// The key of an entity, if its table exists.
async fn of_entity(
    call: &Call<'_>,
    request: &AuthorizedRequest<'_>,
    partition: &str,
    row: &str,
) -> Result<Option<Bytes>, Refused> {
    let table = find_table_if_any(call, request).await?;
    Ok(table.map(|table| table.space.entity(partition, row)))
}
