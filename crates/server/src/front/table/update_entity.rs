//! Update Entity, Merge Entity, Insert Or Replace Entity, Insert Or Merge Entity: PUT and MERGE, with a condition or
//! without.

use super::super::reply::Reply;
use super::call::{AuthorizedRequest, Call};
use super::changes;
use super::failure;
use hyper::{StatusCode, header};
use partita_wire::Failure;

pub(super) async fn run(
    call: &Call<'_>,
    request: &AuthorizedRequest<'_>,
    body: &[u8],
) -> Result<Reply, Failure> {
    let (partition_key, row_key) = request.resource.keys().unwrap_or_default();
    request.access.check_keys(partition_key, row_key)?;
    let keys = (partition_key, row_key);
    let change = changes::on_entity(request.operation, keys, request.if_match, body)?;
    let table = super::table(call, request, request.table()).await?;
    let changed = call
        .service()
        .change_entity(&table, change)
        .await
        .map_err(failure::failure)?;
    let reply = Reply::uncached(StatusCode::NO_CONTENT);
    Ok(match changed.etag {
        Some(etag) => reply.header(header::ETAG, &etag.text()),
        None => reply,
    })
}
