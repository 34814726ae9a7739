//! Truncate Table, an extension of Partita: deletes all entities of a table at once.

use super::{AuthorizedRequest, Call, Outcome, Reply};
use hyper::StatusCode;

pub(super) async fn run(call: &Call<'_>, request: &AuthorizedRequest<'_>) -> Outcome {
    let (name, account) = (request.table_name()?, &request.account.name);
    call.service()?.truncate_table(account, &name).await?;
    Ok(Reply::new(StatusCode::NO_CONTENT))
}
