//! Delete Entity.

use super::super::context::{Asked, Call};
use super::super::reply::Reply;
use super::changes;
use super::failure;
use hyper::StatusCode;
use partita_wire::Failure;

pub(super) async fn run(call: &Call<'_>, asked: &Asked<'_>) -> Result<Reply, Failure> {
    let (partition_key, row_key) = asked.resource.keys().unwrap_or_default();
    asked.access.check_keys(partition_key, row_key)?;
    let keys = (partition_key, row_key);
    let change = changes::on_entity(asked.operation, keys, asked.if_match, &[])?;
    let table = super::table(call, asked, asked.table()).await?;
    call.front
        .service()
        .change_entity(&table, change)
        .await
        .map_err(failure::failure)?;
    Ok(Reply::of_tables(StatusCode::NO_CONTENT))
}
