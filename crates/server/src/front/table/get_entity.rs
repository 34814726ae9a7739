//! Get Entity.

use super::super::context::{Asked, Call};
use super::super::reply::Reply;
use super::failure;
use hyper::{StatusCode, header};
use partita_wire::Failure;
use partita_wire::table::{EntityWriter, Select};

pub(super) async fn run(call: &Call<'_>, asked: &Asked<'_>) -> Result<Reply, Failure> {
    let table = super::table(call, asked, asked.table()).await?;
    let (partition_key, row_key) = asked.resource.keys().unwrap_or_default();
    asked.access.check_keys(partition_key, row_key)?;
    let select = asked.target.query.get("$select")?;
    let select = select.as_deref().map(Select::parse).transpose()?;
    let row = call
        .front
        .service()
        .entity(&table, partition_key, row_key)
        .await;
    let row = row.map_err(failure::failure)?;
    let entity = row.entity(&table.space).map_err(failure::failure)?;
    let base = asked.base(call.front);
    let writer =
        EntityWriter::new(&asked.entity_format(call.level, &base, &table, select.as_ref()));
    let mut body = Vec::with_capacity(row.value.len() * 2 + 512);
    writer
        .single(&entity, &mut body)
        .map_err(|error| failure::failure(error.into()))?;
    let mut reply =
        Reply::of_tables(StatusCode::OK).header(header::ETAG, &entity.stored.etag().text());
    reply.entities = 1;
    Ok(reply.body(call.level.content_type(), body))
}
