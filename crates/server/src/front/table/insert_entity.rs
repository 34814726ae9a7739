//! Insert Entity.

use super::super::reply::Reply;
use super::call::{AuthorizedRequest, Call};
use super::changes;
use super::failure;
use super::headers::DATA_SERVICE_ID;
use hyper::{StatusCode, header};
use partita_table::{Changed, RowData};
use partita_wire::Failure;
use partita_wire::table::{EntityWriter, Prefer, entity_url};

pub(super) async fn run(
    call: &Call<'_>,
    request: &AuthorizedRequest<'_>,
    body: &[u8],
) -> Result<Reply, Failure> {
    let change = changes::insert(body)?;
    request
        .access
        .check_keys(&change.partition_key, &change.row_key)?;
    let table = super::table(call, request, request.table()).await?;
    let base = request.base(call);
    let url = entity_url(&base, &table.name, &change.partition_key, &change.row_key);
    let changed = call
        .service()
        .change_entity(&table, change)
        .await
        .map_err(failure::failure)?;
    let Changed { key, value, etag } = changed;
    let status = if call.prefer == Some(Prefer::ReturnNoContent) {
        StatusCode::NO_CONTENT
    } else {
        StatusCode::CREATED
    };
    let mut reply = Reply::uncached(status).header(header::LOCATION, &url);
    if let Some(etag) = etag {
        reply = reply.header(header::ETAG, &etag.text());
    }
    if status == StatusCode::NO_CONTENT {
        return Ok(reply.header(DATA_SERVICE_ID, &url));
    }
    let row = RowData {
        key,
        value: value.unwrap_or_default(),
    };
    let entity = row.entity(&table.space).map_err(failure::failure)?;
    let writer = EntityWriter::new(&request.entity_format(call.level, &base, &table, None));
    let mut body = Vec::with_capacity(row.value.len() * 2 + 512);
    writer
        .single(&entity, &mut body)
        .map_err(|error| failure::failure(error.into()))?;
    reply.entities = 1;
    Ok(reply.body(call.level.content_type(), body))
}
