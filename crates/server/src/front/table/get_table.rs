//! Query Tables for one name.

use super::super::reply::Reply;
use super::call::{AuthorizedRequest, Call};
use super::failure;
use hyper::StatusCode;
use partita_model::TableName;
use partita_table::Error;
use partita_wire::Failure;
use partita_wire::table::TableWriter;

pub(super) async fn run(
    call: &Call<'_>,
    request: &AuthorizedRequest<'_>,
) -> Result<Reply, Failure> {
    let missing = || failure::failure(Error::NoSuchTable);
    let name = TableName::new(request.table()).map_err(|_| missing())?;
    let table = match call.service().table(&request.account.name, &name).await {
        Err(Error::TableNotFound) => return Err(missing()),
        found => found.map_err(failure::failure)?,
    };
    let (base, mut body) = (request.base(call), Vec::with_capacity(256));
    TableWriter::new(call.level, &base, request.account.name.as_str())
        .single(&table.name, &mut body);
    Ok(Reply::uncached(StatusCode::OK).body(call.level.content_type(), body))
}
