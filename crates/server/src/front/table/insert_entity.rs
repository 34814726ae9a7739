//! Insert Entity: answers with the entity, or with 204 if the client prefers that.

use super::headers::DATA_SERVICE_ID;
use super::{AuthorizedRequest, Call, Outcome, Reply, changes, find_table};
use hyper::{StatusCode, header};
use partita_table::RowData;
use partita_wire::table::{EntityWriter, Prefer, entity_url};

pub(super) async fn run(call: &Call<'_>, request: &AuthorizedRequest<'_>) -> Outcome {
    let change = changes::insert(&request.body)?;
    let (partition_key, row_key) = (&change.partition_key, &change.row_key);
    request.own.access.check_keys(partition_key, row_key)?;
    let table = find_table(call, request, request.table()).await?;
    let base = request.base(&call.head);
    let url = entity_url(&base, &table.name, partition_key, row_key);
    let changed = call.service()?.change_entity(&table, change).await?;
    let is_echoed = call.prefer != Some(Prefer::ReturnNoContent);
    let mut reply = Reply::uncached(match is_echoed {
        true => StatusCode::CREATED,
        false => StatusCode::NO_CONTENT,
    });
    reply = reply.header(header::LOCATION, &url);
    if let Some(etag) = changed.etag {
        reply = reply.header(header::ETAG, &etag.text());
    }
    if !is_echoed {
        return Ok(reply.header(DATA_SERVICE_ID, &url));
    }
    let row = RowData {
        key: changed.key,
        value: changed.value.unwrap_or_default(),
    };
    let entity = row.entity(&table.space)?;
    let format = request.entity_format(call.level, &base, &table, None);
    let mut body = Vec::with_capacity(row.value.len() * 2 + 512);
    EntityWriter::new(&format).single(&entity, &mut body)?;
    reply.entities = 1;
    Ok(reply.body(call.level.content_type(), body))
}
