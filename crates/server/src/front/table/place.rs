//! Where the data of a request is: the key whose server executes it.
//!
//! A request that names no row, or that is refused before a row is read, is executed by the server of the catalog.

use super::{
    AuthorizedRequest, Call, Refused, entity_group_transaction, find_table, query_entities,
};
use bytes::Bytes;
use partita_table::{Error, Service};
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
        Operation::EntityGroupTransaction => entity_group_transaction::place(call, request).await?,
        operation => of_operation(call, request, operation, &request.body).await?,
    };
    Ok(key.unwrap_or_else(Service::place_of_catalog))
}

/// The key of an operation on entities, if it has one.
pub(super) async fn of_operation(
    call: &Call<'_>,
    request: &AuthorizedRequest<'_>,
    operation: Operation,
    body: &[u8],
) -> Result<Option<Bytes>, Refused> {
    if matches!(request.resource, Resource::BelowTable { .. }) {
        return Ok(None);
    }
    match operation {
        Operation::QueryEntities => query_entities::place(call, request).await,
        Operation::InsertEntity => {
            let draft = read_entity(body).ok();
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
        | Operation::DeleteEntity => match request.resource.keys() {
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
    match find_table(call, request, request.table()).await {
        Ok(table) => Ok(Some(table.space.entity(partition, row))),
        Err(refused) => none_of_missing(refused),
    }
}

/// A table that does not exist has no rows.
pub(super) fn none_of_missing(refused: Refused) -> Result<Option<Bytes>, Refused> {
    match refused.0.code == Refused::from(Error::TableNotFound).0.code {
        true => Ok(None),
        false => Err(refused),
    }
}
