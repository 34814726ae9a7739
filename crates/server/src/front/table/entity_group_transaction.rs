//! Entity Group Transaction: a change set of up to 100 operations, or a single query.

use super::super::reply::Reply;
use super::call::{AuthorizedRequest, Call};
use super::failure;
use super::headers::{NEXT_PARTITION_KEY, NEXT_ROW_KEY};
use super::{changes, get_entity, query_entities};
use hyper::StatusCode;
use hyper::header::{self, HeaderName};
use partita_model::{ETag, TableName};
use partita_table::{BatchError, Change, Changed, Error, RowData, Table};
use partita_wire::table::{
    BatchWriter, EntityWriter, MetadataLevel, NextPage, Operation, Part, PartOutcome, Prefer,
    Resource, entity_url, read_batch, tunnelled_method,
};
use partita_wire::{ErrorCode, Failure, Method, Occurrence, Target, Version};
use std::sync::Arc;

pub(super) async fn run(
    call: &Call<'_>,
    request: &AuthorizedRequest<'_>,
    body: &[u8],
) -> Result<Reply, Failure> {
    let content_type = call.head.header(&header::CONTENT_TYPE).unwrap_or_default();
    let batch = match read_batch(content_type, body) {
        Ok(batch) => batch,
        Err(refusal) => {
            let Some(index) = refusal.index else {
                return Err(refusal.failure);
            };
            let fault = Fault {
                index: Some(index),
                failure: refusal.failure,
            };
            return Ok(write_fault(call, &Part::default(), &fault));
        }
    };
    match batch.parts.as_slice() {
        [part] if !batch.in_change_set => query(call, request, part).await,
        parts => match change_set(call, request, parts).await {
            Ok(reply) => Ok(reply),
            Err(fault) if is_of_the_server(fault.failure.code) => Err(fault.failure),
            Err(fault) => {
                let at = fault.index.unwrap_or_default();
                Ok(write_fault(
                    call,
                    parts.get(at).unwrap_or(&Part::default()),
                    &fault,
                ))
            }
        },
    }
}

/// Whether the server failed, not the request. Then the status of the whole request says so: clients retry by that status,
/// and monitoring counts it; an error inside a 202 is for the program. It matters most for an unknown outcome.
fn is_of_the_server(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::ServerBusy
            | ErrorCode::OperationTimedOut
            | ErrorCode::InternalError
            | ErrorCode::TableServerOutOfMemory
    )
}

/// Why a change set did not happen: the failure, and the index that its text names.
struct Fault {
    index: Option<usize>,
    failure: Failure,
}

/// An operation of a change set, read.
struct Step {
    change: Change,
    operation: Operation,
    prefer: Option<Prefer>,
    level: MetadataLevel,
}

async fn change_set(
    call: &Call<'_>,
    request: &AuthorizedRequest<'_>,
    parts: &[Part<'_>],
) -> Result<Reply, Fault> {
    let mut steps = Vec::with_capacity(parts.len());
    let mut table_name: Option<String> = None;
    for (index, part) in parts.iter().enumerate() {
        let read = read_step(request, part, &mut table_name);
        steps.push(read.map_err(|failure| Fault {
            index: Some(index),
            failure,
        })?);
    }
    let table = find_table(call, request, table_name.as_deref().unwrap_or_default()).await;
    let table = table.map_err(|failure| Fault {
        index: Some(0),
        failure,
    })?;
    let mut changes = Vec::with_capacity(steps.len());
    let mut forms = Vec::with_capacity(steps.len());
    for Step {
        change,
        operation,
        prefer,
        level,
    } in steps
    {
        changes.push(change);
        forms.push((operation, prefer, level));
    }
    let changed = call.service().change_entities(&table, changes).await;
    let changed = changed.map_err(|BatchError { index, error }| {
        // Of a change set of one operation, only invalid requests name the index.
        let named = parts.len() > 1 || error.is_invalid_request();
        Fault {
            index: named.then_some(index),
            failure: failure::failure(error),
        }
    })?;
    write_changed(call, request, &table, parts, &forms, changed).map_err(|failure| Fault {
        index: None,
        failure,
    })
}

/// Reads one operation, and checks that the caller may do it.
fn read_step(
    request: &AuthorizedRequest<'_>,
    part: &Part<'_>,
    table_name: &mut Option<String>,
) -> Result<Step, Failure> {
    let target = Target::parse_inner(part.target, &request.target);
    let resource = Resource::of(&target)?;
    let method = tunnelled_method(Method::parse(part.method)?, part.x_http_method)?;
    let operation = Operation::of(&target, method, &resource, part.if_match.is_some())?;
    let name = resource.table().unwrap_or_default();
    match table_name {
        Some(first) if !first.eq_ignore_ascii_case(name) => {
            return Err(ErrorCode::CommandsInBatchActOnDifferentPartitions.into());
        }
        Some(_) => {}
        None => *table_name = Some(name.to_owned()),
    }
    let change = match operation {
        Operation::InsertEntity => changes::insert(part.body)?,
        Operation::UpdateEntity
        | Operation::MergeEntity
        | Operation::InsertOrReplaceEntity
        | Operation::InsertOrMergeEntity
        | Operation::DeleteEntity => changes::on_entity(
            operation,
            resource.keys().unwrap_or_default(),
            part.if_match,
            part.body,
        )?,
        _ => return Err(ErrorCode::BatchOperationNotSupported.into()),
    };
    request.access.check(operation, Some(name))?;
    request
        .access
        .check_keys(&change.partition_key, &change.row_key)?;
    let format = target.query.get("$format")?;
    let level = MetadataLevel::choose(part.accept, format.as_deref(), Version::CLIENT_REQUEST_ID)?;
    Ok(Step {
        change,
        operation,
        prefer: part.prefer.and_then(Prefer::parse),
        level,
    })
}

async fn find_table(
    call: &Call<'_>,
    request: &AuthorizedRequest<'_>,
    name: &str,
) -> Result<Arc<Table>, Failure> {
    let Ok(name) = TableName::new(name) else {
        return Err(failure::failure(Error::TableNotFound));
    };
    call.service()
        .table(&request.account.name, &name)
        .await
        .map_err(failure::failure)
}

fn write_changed(
    call: &Call<'_>,
    request: &AuthorizedRequest<'_>,
    table: &Table,
    parts: &[Part<'_>],
    forms: &[(Operation, Option<Prefer>, MetadataLevel)],
    changed: Vec<Changed>,
) -> Result<Reply, Failure> {
    let base = request.base(call);
    let mut writer = new_change_set(parts.len());
    let mut body = Vec::new();
    for ((part, (operation, prefer, level)), changed) in parts.iter().zip(forms).zip(changed) {
        let (prefer, level) = (*prefer, *level);
        let outcome = match (operation, changed.etag) {
            (_, None) => PartOutcome::Deleted,
            (Operation::InsertEntity, Some(etag)) => {
                let row = RowData {
                    key: changed.key,
                    value: changed.value.unwrap_or_default(),
                };
                let entity = row.entity(&table.space).map_err(failure::failure)?;
                body.clear();
                if prefer != Some(Prefer::ReturnNoContent) {
                    let format = request.entity_format(level, &base, table, None);
                    let written = EntityWriter::new(&format).single(&entity, &mut body);
                    written.map_err(|error| failure::failure(error.into()))?;
                }
                let location =
                    entity_url(&base, &table.name, &entity.partition_key, &entity.row_key);
                let outcome = PartOutcome::Inserted {
                    prefer,
                    location: &location,
                    etag,
                    body: &body,
                    level,
                };
                writer.part(part.content_id, &outcome);
                continue;
            }
            (_, Some(etag)) => PartOutcome::Updated { prefer, etag },
        };
        writer.part(part.content_id, &outcome);
    }
    Ok(reply(writer))
}

fn write_fault(call: &Call<'_>, part: &Part<'_>, fault: &Fault) -> Reply {
    let mut writer = new_change_set(1);
    writer.part(part.content_id, &failed(call, part, fault));
    let mut reply = reply(writer);
    reply.code = Some(fault.failure.code);
    reply
}

fn failed<'a>(call: &'a Call<'_>, part: &Part<'_>, fault: &'a Fault) -> PartOutcome<'a> {
    let level =
        MetadataLevel::choose(part.accept, None, Version::CLIENT_REQUEST_ID).unwrap_or_default();
    // A delete has nothing to return (recording gostorage--TableBatchSuite_Test_BatchInsertDeleteSameEntity).
    let prefer = part
        .prefer
        .filter(|_| part.method != "DELETE")
        .and_then(Prefer::parse);
    PartOutcome::Failed {
        prefer,
        failure: &fault.failure,
        occurrence: Occurrence {
            batch_index: fault.index,
            ..call.head.occurrence()
        },
        level,
    }
}

/// The only query of a batch.
async fn query(
    call: &Call<'_>,
    request: &AuthorizedRequest<'_>,
    part: &Part<'_>,
) -> Result<Reply, Failure> {
    let mut writer = BatchWriter::query(&guid());
    match run_query(call, request, part).await {
        Ok((answer, level)) => {
            let header = |name: HeaderName| {
                answer
                    .headers
                    .get(name)
                    .and_then(|value| value.to_str().ok())
            };
            let etag = header(header::ETAG).and_then(|etag| ETag::parse(etag).ok());
            let next = header(NEXT_PARTITION_KEY).map(|partition_key| NextPage {
                partition_key,
                row_key: header(NEXT_ROW_KEY),
            });
            writer.part(
                part.content_id,
                &PartOutcome::Found {
                    etag,
                    next,
                    body: &answer.body,
                    level,
                },
            );
            let mut reply = reply(writer);
            reply.entities = answer.entities;
            Ok(reply)
        }
        Err(failure) if is_of_the_server(failure.code) => Err(failure),
        Err(failure) => {
            let fault = Fault {
                index: None,
                failure,
            };
            writer.part(part.content_id, &failed(call, part, &fault));
            let mut reply = reply(writer);
            reply.code = Some(fault.failure.code);
            Ok(reply)
        }
    }
}

async fn run_query(
    call: &Call<'_>,
    request: &AuthorizedRequest<'_>,
    part: &Part<'_>,
) -> Result<(Reply, MetadataLevel), Failure> {
    let target = Target::parse_inner(part.target, &request.target);
    let resource = Resource::of(&target)?;
    let method = tunnelled_method(Method::parse(part.method)?, part.x_http_method)?;
    let operation = Operation::of(&target, method, &resource, part.if_match.is_some())?;
    request.access.check(operation, resource.table())?;
    let format = target.query.get("$format")?;
    let level = MetadataLevel::choose(part.accept, format.as_deref(), Version::CLIENT_REQUEST_ID)?;
    let call = Call {
        level,
        ..call.clone()
    };
    let (access, account) = (request.access.clone(), request.account);
    let request = AuthorizedRequest {
        target,
        account,
        access,
        resource,
        operation,
        if_match: part.if_match,
    };
    let reply = match operation {
        Operation::GetEntity => get_entity::run(&call, &request).await?,
        Operation::QueryEntities => query_entities::run(&call, &request).await?,
        _ => return Err(ErrorCode::BatchOperationNotSupported.into()),
    };
    Ok((reply, level))
}

fn guid() -> partita_model::GuidText {
    partita_model::Guid(partita_rt::random::guid()).text()
}

fn new_change_set(parts: usize) -> BatchWriter {
    BatchWriter::change_set(&guid(), &guid(), parts)
}

fn reply(writer: BatchWriter) -> Reply {
    let content_type = writer.content_type();
    let mut reply =
        Reply::uncached(StatusCode::ACCEPTED).header(header::CONTENT_TYPE, &content_type);
    reply.body = writer.finish().into();
    reply
}

#[cfg(test)]
mod tests {
    use super::*;
    use partita_wire::table::ERROR_CODES;

    #[test]
    fn what_the_server_failed_at_is_the_answer_to_the_whole_request() {
        let whole = [Error::OutcomeUnknown, Error::Corrupt("a test".into())];
        for error in whole {
            assert!(is_of_the_server(failure::failure(error).code));
        }
        // What is not there at all is the asker's to know: trying again would not help.
        for code in ERROR_CODES {
            let expected = code.status() >= 500 && *code != ErrorCode::NotImplemented;
            assert_eq!(is_of_the_server(*code), expected, "{code}");
        }
    }
}
