//! Query Tables for one name.

use super::{AuthorizedRequest, Call, Outcome, Reply};
use hyper::StatusCode;
use partita_model::TableName;
use partita_table::Error;
use partita_wire::table::TableWriter;

pub(super) async fn run(call: &Call<'_>, request: &AuthorizedRequest<'_>) -> Outcome {
    let account = &request.account.name;
    let name = TableName::new(request.table()).map_err(|_| Error::NoSuchTable)?;
    let table = match call.service()?.table(account, &name).await {
        Err(Error::TableNotFound) => return Err(Error::NoSuchTable.into()),
        found => found?,
    };
    let (base, mut body) = (request.base(&call.head), Vec::with_capacity(256));
    TableWriter::new(call.level, &base, account.as_str()).single(&table.name, &mut body);
    Ok(Reply::uncached(StatusCode::OK).body(call.level.content_type(), body))
}
