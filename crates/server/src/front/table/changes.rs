//! Translates a request, or an operation of a batch, into a change of an entity.

use super::{AuthorizedRequest, failure};
use partita_model::ETag;
use partita_table::{Change, ChangeKind, Condition};
use partita_wire::table::{Operation, read_entity, read_properties};
use partita_wire::{ErrorCode, Failure};

/// The condition of an `If-Match`.
fn condition(if_match: Option<&str>) -> Result<Condition, Failure> {
    match if_match {
        None => Ok(Condition::None),
        Some("*") => Ok(Condition::Exists),
        Some(text) => match ETag::parse(text) {
            Ok(etag) => Ok(Condition::Version(etag)),
            Err(error) => failure::if_match(text, error).map_or(Ok(Condition::NoVersion), Err),
        },
    }
}

/// Reads Insert Entity: the keys are in the body.
pub(super) fn insert(body: &[u8]) -> Result<Change, Failure> {
    let draft = read_entity(body)?;
    let (Some(partition_key), Some(row_key)) = (draft.partition_key, draft.row_key) else {
        return Err(ErrorCode::PropertiesNeedValue.into());
    };
    Ok(Change::insert(partition_key, row_key, draft.properties))
}

/// Reads a request on an entity whose keys are in the URL, and checks that the caller may use these keys.
pub(super) fn on_keys(request: &AuthorizedRequest<'_>) -> Result<Change, Failure> {
    let keys = request.own.resource.keys().unwrap_or_default();
    request.own.access.check_keys(keys.0, keys.1)?;
    on_entity(request.operation, keys, request.own.if_match, &request.body)
}

/// Reads an operation on an entity whose keys are in the URL. Keys in the body are ignored.
pub(super) fn on_entity(
    operation: Operation,
    (partition_key, row_key): (&str, &str),
    if_match: Option<&str>,
    body: &[u8],
) -> Result<Change, Failure> {
    let condition = condition(if_match)?;
    let keys = (partition_key.to_owned(), row_key.to_owned());
    if operation == Operation::DeleteEntity {
        return Ok(Change::delete(keys.0, keys.1, condition));
    }
    let properties = read_properties(body)?;
    let kind = match operation {
        Operation::MergeEntity | Operation::InsertOrMergeEntity => ChangeKind::Merge(properties),
        _ => ChangeKind::Replace(properties),
    };
    Ok(Change::update(keys.0, keys.1, kind, condition))
}
