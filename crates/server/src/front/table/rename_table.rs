//! Rename Table, an extension of Partita.

use super::super::reply::Reply;
use super::call::{AuthorizedRequest, Call};
use super::failure;
use hyper::StatusCode;
use partita_model::TableName;
use partita_wire::Failure;
use partita_wire::table::read_rename;

pub(super) async fn run(
    call: &Call<'_>,
    request: &AuthorizedRequest<'_>,
    body: &[u8],
) -> Result<Reply, Failure> {
    let from = super::table_name(request)?;
    let to = TableName::new(&read_rename(body)?).map_err(failure::table_name)?;
    let renamed = call
        .service()
        .rename_table(&request.account.name, &from, &to)
        .await;
    renamed.map_err(failure::failure)?;
    Ok(Reply::new(StatusCode::NO_CONTENT))
}
