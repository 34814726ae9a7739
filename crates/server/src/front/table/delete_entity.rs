//! Delete Entity.

use super::{AuthorizedRequest, Call, Outcome, Reply, changes, find_table};
use hyper::StatusCode;

pub(super) async fn run(call: &Call<'_>, request: &AuthorizedRequest<'_>) -> Outcome {
    let change = changes::on_keys(request)?;
    let table = find_table(call, request, request.table()).await?;
    call.service()?.change_entity(&table, change).await?;
    Ok(Reply::uncached(StatusCode::NO_CONTENT))
}
