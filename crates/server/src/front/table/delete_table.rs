//! Delete Table.

use super::super::reply::Reply;
use super::call::{AuthorizedRequest, Call};
use super::failure;
use hyper::StatusCode;
use partita_model::TableName;
use partita_table::Error;
use partita_wire::Failure;

pub(super) async fn run(
    call: &Call<'_>,
    request: &AuthorizedRequest<'_>,
) -> Result<Reply, Failure> {
    // A name that no table can have is not found either.
    let name = TableName::new(request.table()).map_err(|_| failure::failure(Error::NoSuchTable))?;
    let deleted = call
        .service()
        .delete_table(&request.account.name, &name)
        .await;
    deleted.map_err(failure::failure)?;
    Ok(Reply::uncached(StatusCode::NO_CONTENT))
}
