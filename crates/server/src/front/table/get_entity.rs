//! Get Entity.

use super::{AuthorizedRequest, Call, Outcome, Reply, find_table};
use hyper::{StatusCode, header};
use partita_wire::table::{EntityWriter, Select};

pub(super) async fn run(call: &Call<'_>, request: &AuthorizedRequest<'_>) -> Outcome {
    let table = find_table(call, request, request.table()).await?;
    let (partition_key, row_key) = request.own.resource.keys().unwrap_or_default();
    request.own.access.check_keys(partition_key, row_key)?;
    let select = request.target.query.get("$select")?;
    let select = select.as_deref().map(Select::parse).transpose()?;
    let row = call
        .service()?
        .entity(&table, partition_key, row_key)
        .await?;
    let entity = row.entity(&table.space)?;
    let base = request.base(&call.head);
    let format = request.entity_format(call.level, &base, &table, select.as_ref());
    let mut body = Vec::with_capacity(row.value.len() * 2 + 512);
    EntityWriter::new(&format).single(&entity, &mut body)?;
    let etag = entity.stored.etag();
    let mut reply = Reply::uncached(StatusCode::OK).header(header::ETAG, &etag.text());
    reply.entities = 1;
    Ok(reply.body(call.level.content_type(), body))
}
