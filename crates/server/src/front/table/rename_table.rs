//! Rename Table, an extension of Partita.

use super::{AuthorizedRequest, Call, Outcome, Reply};
use hyper::StatusCode;
use partita_model::TableName;
use partita_wire::table::read_rename;

pub(super) async fn run(call: &Call<'_>, request: &AuthorizedRequest<'_>) -> Outcome {
    let (from, account) = (request.table_name()?, &request.account.name);
    let to = TableName::new(&read_rename(&request.body)?)?;
    call.service()?.rename_table(account, &from, &to).await?;
    Ok(Reply::new(StatusCode::NO_CONTENT))
}
