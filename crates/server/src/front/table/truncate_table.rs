//! Truncate Table, an extension of ours.

use super::super::context::{Asked, Call};
use super::super::reply::Reply;
use super::failure;
use hyper::StatusCode;
use partita_wire::Failure;

pub(super) async fn run(call: &Call<'_>, asked: &Asked<'_>) -> Result<Reply, Failure> {
    let name = super::table_name(asked)?;
    let truncated = call
        .front
        .service()
        .truncate_table(&asked.account.name, &name)
        .await;
    truncated.map_err(failure::failure)?;
    Ok(Reply::new(StatusCode::NO_CONTENT))
}
