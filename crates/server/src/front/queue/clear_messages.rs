//! Clear Messages: deletes all messages of a queue at once.

use super::{AuthorizedRequest, Call, Outcome, Reply};
use hyper::StatusCode;

pub(super) async fn run(call: &Call<'_>, request: &AuthorizedRequest<'_>) -> Outcome {
    let (account, name) = (&request.account.name, request.queue()?);
    call.service()?.clear_messages(account, name).await?;
    Ok(Reply::new(StatusCode::NO_CONTENT))
}
