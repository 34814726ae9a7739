//! Delete Entity.

use super::super::reply::Reply;
use super::call::{AuthorizedRequest, Call};
use super::changes;
use super::failure;
use hyper::StatusCode;
use partita_wire::Failure;

pub(super) async fn run(
    call: &Call<'_>,
    request: &AuthorizedRequest<'_>,
) -> Result<Reply, Failure> {
    let (partition_key, row_key) = request.resource.keys().unwrap_or_default();
    request.access.check_keys(partition_key, row_key)?;
    let keys = (partition_key, row_key);
    let change = changes::on_entity(request.operation, keys, request.if_match, &[])?;
    let table = super::table(call, request, request.table()).await?;
    call.service()
        .change_entity(&table, change)
        .await
        .map_err(failure::failure)?;
    Ok(Reply::uncached(StatusCode::NO_CONTENT))
}
