//! Delete Table.

use super::{AuthorizedRequest, Call, Outcome, Reply};
use hyper::StatusCode;
use partita_model::TableName;
use partita_table::Error;

pub(super) async fn run(call: &Call<'_>, request: &AuthorizedRequest<'_>) -> Outcome {
    // An invalid name gets the same answer as a missing table.
    let name = TableName::new(request.table()).map_err(|_| Error::NoSuchTable)?;
    let account = &request.account.name;
    call.service()?.delete_table(account, &name).await?;
    Ok(Reply::uncached(StatusCode::NO_CONTENT))
}
