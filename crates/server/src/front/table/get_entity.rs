//! Get Entity.

use super::super::reply::Reply;
use super::call::{AuthorizedRequest, Call};
use super::failure;
use hyper::{StatusCode, header};
use partita_wire::Failure;
use partita_wire::table::{EntityWriter, Select};

pub(super) async fn run(
    call: &Call<'_>,
    request: &AuthorizedRequest<'_>,
) -> Result<Reply, Failure> {
    let table = super::table(call, request, request.table()).await?;
    let (partition_key, row_key) = request.resource.keys().unwrap_or_default();
    request.access.check_keys(partition_key, row_key)?;
    let select = request.target.query.get("$select")?;
    let select = select.as_deref().map(Select::parse).transpose()?;
    let row = call.service().entity(&table, partition_key, row_key).await;
    let row = row.map_err(failure::failure)?;
    let entity = row.entity(&table.space).map_err(failure::failure)?;
    let base = request.base(call);
    let writer =
        EntityWriter::new(&request.entity_format(call.level, &base, &table, select.as_ref()));
    let mut body = Vec::with_capacity(row.value.len() * 2 + 512);
    writer
        .single(&entity, &mut body)
        .map_err(|error| failure::failure(error.into()))?;
    let mut reply =
        Reply::uncached(StatusCode::OK).header(header::ETAG, &entity.stored.etag().text());
    reply.entities = 1;
    Ok(reply.body(call.level.content_type(), body))
}
