//! Delete Queue.

use super::{AuthorizedRequest, Call, Outcome, Reply};
use hyper::StatusCode;

pub(super) async fn run(call: &Call<'_>, request: &AuthorizedRequest<'_>) -> Outcome {
    let (account, name) = (&request.account.name, request.queue()?);
    call.service()?.delete_queue(account, name).await?;
    Ok(Reply::new(StatusCode::NO_CONTENT))
}
