//! Truncate Table, an extension of Partita.

use super::super::reply::Reply;
use super::call::{AuthorizedRequest, Call};
use super::failure;
use hyper::StatusCode;
use partita_wire::Failure;

pub(super) async fn run(
    call: &Call<'_>,
    request: &AuthorizedRequest<'_>,
) -> Result<Reply, Failure> {
    let name = super::table_name(request)?;
    let truncated = call
        .service()
        .truncate_table(&request.account.name, &name)
        .await;
    truncated.map_err(failure::failure)?;
    Ok(Reply::new(StatusCode::NO_CONTENT))
}
