//! Entity Group Transaction: a change set of up to 100 operations, or a single query.
//!
//! A change set happens as a whole or not at all. A fault of the request is answered with 202 and the failed operation
//! inside; a fault of the server is the answer to the whole request.

use super::call::TableRequest;
use super::headers::{NEXT_PARTITION_KEY, NEXT_ROW_KEY};
use super::{AuthorizedRequest, Call, Outcome, Refused, Reply};
use super::{changes, find_table, get_entity, query_entities};
use bytes::Bytes;
use hyper::StatusCode;
use hyper::header::{self, HeaderName};
use partita_model::ETag;
use partita_table::{Change, Changed, RowData, Table};
use partita_wire::table::{
    BatchRefusal, BatchWriter, EntityWriter, MetadataLevel, NextPage, Operation, Part, PartOutcome,
    Prefer, Resource, check_content_type, entity_url, invalid_path, read_batch, tunnelled_method,
};
use partita_wire::{ErrorCode, Failure, Method, Occurrence, Target, Version};

pub(super) async fn run(call: &Call<'_>, request: &AuthorizedRequest<'_>) -> Outcome {
    let content_type = call.head.header(&header::CONTENT_TYPE).unwrap_or_default();
    let batch = read_batch(content_type, &request.body);
    let batch = batch.map_err(|refusal| refusal.failure)?;
    if let ([part], false) = (batch.parts.as_slice(), batch.in_change_set) {
        let done = query(call, request, part).await.map_err(fault(None));
        return done.or_else(|fault| write_fault(call, new_query(), part, fault));
    }
    if batch.parts.is_empty() {
        return Ok(reply(new_change_set(0)));
    }
    let done = match batch.check_count() {
        Ok(()) => change_set(call, request, &batch.parts).await,
        Err(refusal) => Err(refusal),
    };
    done.or_else(|fault| {
        let (failed, unknown) = (fault.index.unwrap_or_default(), Part::default());
        let part = batch.parts.get(failed).unwrap_or(&unknown);
        write_fault(call, new_change_set(1), part, fault)
    })
}

/// The first operation as a request of its own, with its body: the batch is executed where that is. `None` for a batch that
/// is refused.
pub(super) fn first_operation<'a>(
    call: &Call<'_>,
    request: &'a AuthorizedRequest<'_>,
) -> Option<AuthorizedRequest<'a>> {
    let content_type = call.head.header(&header::CONTENT_TYPE).unwrap_or_default();
    let batch = read_batch(content_type, &request.body).ok()?;
    let part = batch.parts.first()?;
    let mut first = inner_request(request, part).ok()?;
    first.body = request.body.slice_ref(part.body);
    Some(first)
}

/// Whether the error is a failure of the server, not a fault of the request. A failure of the server is the status of
/// the whole request: clients retry by that status, and monitoring counts it. This matters most for an unknown outcome.
fn is_of_the_server(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::ServerBusy
            | ErrorCode::OperationTimedOut
            | ErrorCode::InternalError
            | ErrorCode::TableServerOutOfMemory
    )
}

/// A refusal that names the failed operation, if `index` is known.
fn fault(index: Option<usize>) -> impl Fn(Refused) -> BatchRefusal {
    move |Refused(failure)| BatchRefusal { index, failure }
}

/// How an operation of a change set is answered.
#[derive(Clone, Copy)]
struct AnswerForm {
    operation: Operation,
    prefer: Option<Prefer>,
    level: MetadataLevel,
}

async fn change_set(
    call: &Call<'_>,
    request: &AuthorizedRequest<'_>,
    parts: &[Part<'_>],
) -> Result<Reply, BatchRefusal> {
    let (mut changes, mut forms) = (
        Vec::with_capacity(parts.len()),
        Vec::with_capacity(parts.len()),
    );
    let mut table_name: Option<String> = None;
    for (index, part) in parts.iter().enumerate() {
        let read = read_change(request, part, &mut table_name);
        let (change, form) = read.map_err(fault(Some(index)))?;
        changes.push(change);
        forms.push(form);
    }
    let table = find_table(call, request, table_name.as_deref().unwrap_or_default()).await;
    let table = table.map_err(fault(Some(0)))?;
    let service = call.service().map_err(fault(None))?;
    let changed = service.change_entities(&table, changes).await;
    let changed = changed.map_err(|failed| {
        // For a change set of one operation, only the errors of invalid requests name the index.
        let is_named = parts.len() > 1 || failed.error.is_invalid_request();
        fault(is_named.then_some(failed.index))(failed.error.into())
    })?;
    write_changed(call, request, &table, parts, &forms, changed).map_err(fault(None))
}

/// Reads one operation, and checks that the caller may perform it.
fn read_change(
    request: &AuthorizedRequest<'_>,
    part: &Part<'_>,
    table_name: &mut Option<String>,
) -> Result<(Change, AnswerForm), Refused> {
    let (target, resource, operation) = read_target(request, part)?;
    let name = resource.table().unwrap_or_default();
    match table_name {
        Some(first) if !first.eq_ignore_ascii_case(name) => {
            return Err(ErrorCode::CommandsInBatchActOnDifferentPartitions.into());
        }
        Some(_) => {}
        None => *table_name = Some(name.to_owned()),
    }
    let change = match operation {
        Operation::InsertEntity => {
            check_content_type(part.content_type)?;
            changes::insert(part.body)?
        }
        Operation::UpdateEntity
        | Operation::MergeEntity
        | Operation::InsertOrReplaceEntity
        | Operation::InsertOrMergeEntity
        | Operation::DeleteEntity => {
            let keys = resource.keys().unwrap_or_default();
            changes::on_entity(operation, keys, part.if_match, part.body)?
        }
        _ => return Err(ErrorCode::BatchOperationNotSupported.into()),
    };
    let access = &request.own.access;
    access.check(operation, Some(name))?;
    access.check_keys(&change.partition_key, &change.row_key)?;
    let form = AnswerForm {
        operation,
        prefer: part.prefer.and_then(Prefer::parse),
        level: read_level(part, &target)?,
    };
    Ok((change, form))
}

fn read_target<'a>(
    request: &AuthorizedRequest<'a>,
    part: &Part<'a>,
) -> Result<(Target<'a>, Resource<'a>, Operation), Failure> {
    let target = Target::parse_inner(part.target, &request.target);
    let resource = Resource::of(&target)?;
    resource.check_table()?;
    if matches!(resource, Resource::BelowTable { .. }) {
        return Err(invalid_path());
    }
    let method = tunnelled_method(Method::parse(part.method)?, part.x_http_method)?;
    let operation = Operation::of(&target, method, &resource, part.if_match.is_some())?;
    Ok((target, resource, operation))
}

fn read_level(part: &Part<'_>, target: &Target<'_>) -> Result<MetadataLevel, Failure> {
    let format = target.query.get("$format")?;
    MetadataLevel::choose(part.accept, format.as_deref(), Version::CLIENT_REQUEST_ID)
}

fn write_changed(
    call: &Call<'_>,
    request: &AuthorizedRequest<'_>,
    table: &Table,
    parts: &[Part<'_>],
    forms: &[AnswerForm],
    changed: Vec<Changed>,
) -> Result<Reply, Refused> {
    let base = request.base(&call.head);
    let mut writer = new_change_set(parts.len());
    let mut body = Vec::new();
    for ((part, form), changed) in parts.iter().zip(forms).zip(changed) {
        let AnswerForm {
            operation,
            prefer,
            level,
        } = *form;
        let outcome = match (operation, changed.etag) {
            (_, None) => PartOutcome::Deleted,
            (Operation::InsertEntity, Some(etag)) => {
                let row = RowData {
                    key: changed.key,
                    value: changed.value.unwrap_or_default(),
                };
                let entity = row.entity(&table.space)?;
                body.clear();
                if prefer != Some(Prefer::ReturnNoContent) {
                    let format = request.entity_format(level, &base, table, None);
                    EntityWriter::new(&format).single(&entity, &mut body)?;
                }
                let (partition_key, row_key) = (&entity.partition_key, &entity.row_key);
                let location = entity_url(&base, &table.name, partition_key, row_key);
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

/// The answer to a batch that is refused: the failure alone if the server failed, else a batch with the failed
/// operation.
fn write_fault(
    call: &Call<'_>,
    mut writer: BatchWriter,
    part: &Part<'_>,
    BatchRefusal { index, failure }: BatchRefusal,
) -> Outcome {
    if is_of_the_server(failure.code) {
        return Err(failure.into());
    }
    let level = MetadataLevel::choose(part.accept, None, Version::CLIENT_REQUEST_ID);
    // A delete has nothing to return (recording gostorage--TableBatchSuite_Test_BatchInsertDeleteSameEntity).
    let prefer = part.prefer.filter(|_| part.method != "DELETE");
    let outcome = PartOutcome::Failed {
        prefer: prefer.and_then(Prefer::parse),
        failure: &failure,
        occurrence: Occurrence {
            batch_index: index,
            ..call.head.occurrence()
        },
        level: level.unwrap_or_default(),
    };
    writer.part(part.content_id, &outcome);
    let mut reply = reply(writer);
    reply.code = Some(failure.code);
    Ok(reply)
}

/// Answers a batch that consists of a single query.
async fn query(call: &Call<'_>, request: &AuthorizedRequest<'_>, part: &Part<'_>) -> Outcome {
    let (answer, level) = run_query(call, request, part).await?;
    let header = |name: HeaderName| answer.headers.get(name)?.to_str().ok();
    let next = header(NEXT_PARTITION_KEY).map(|partition_key| NextPage {
        partition_key,
        row_key: header(NEXT_ROW_KEY),
    });
    let body = answer.body.whole();
    let outcome = PartOutcome::Found {
        etag: header(header::ETAG).and_then(|etag| ETag::parse(etag).ok()),
        next,
        body: &body,
        level,
    };
    let mut writer = new_query();
    writer.part(part.content_id, &outcome);
    let mut reply = reply(writer);
    reply.entities = answer.entities;
    Ok(reply)
}

/// An operation as a request of its own, without its body.
fn inner_request<'a>(
    request: &AuthorizedRequest<'a>,
    part: &Part<'a>,
) -> Result<AuthorizedRequest<'a>, Failure> {
    let (target, resource, operation) = read_target(request, part)?;
    Ok(AuthorizedRequest {
        target,
        account: request.account,
        operation,
        body: Bytes::new(),
        own: TableRequest {
            access: request.own.access.clone(),
            resource,
            if_match: part.if_match,
        },
    })
}

async fn run_query(
    call: &Call<'_>,
    request: &AuthorizedRequest<'_>,
    part: &Part<'_>,
) -> Result<(Reply, MetadataLevel), Refused> {
    let inner = inner_request(request, part)?;
    let (access, operation) = (&request.own.access, inner.operation);
    access.check(operation, inner.own.resource.table())?;
    let level = read_level(part, &inner.target)?;
    let call = Call {
        level,
        ..call.clone()
    };
    let request = inner;
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

fn new_query() -> BatchWriter {
    BatchWriter::query(&guid())
}

fn reply(writer: BatchWriter) -> Reply {
    let reply = Reply::uncached(StatusCode::ACCEPTED);
    let mut reply = reply.header(header::CONTENT_TYPE, &writer.content_type());
    reply.body = Bytes::from(writer.finish()).into();
    reply
}

#[cfg(test)]
mod tests {
    use super::*;
    use partita_table::Error;
    use partita_wire::table::ERROR_CODES;

    #[test]
    fn a_failure_of_the_server_answers_the_whole_request() {
        let whole = [Error::OutcomeUnknown, Error::Corrupt("a test".into())];
        for error in whole {
            assert!(is_of_the_server(Refused::from(error).0.code));
        }
        // 501 is a fault of the request: a retry does not help.
        for code in ERROR_CODES {
            let expected = code.status() >= 500 && *code != ErrorCode::NotImplemented;
            assert_eq!(is_of_the_server(*code), expected, "{code}");
        }
    }
}
