//! Delete Message.

use super::{AuthorizedRequest, Call, Outcome, Reply, find_queue, message};
use hyper::StatusCode;
use partita_wire::queue::pop_receipt;

pub(super) async fn run(call: &Call<'_>, request: &AuthorizedRequest<'_>) -> Outcome {
    let receipt = pop_receipt(request.target.query)?;
    let message = message::message_of(request, &receipt)?;
    let queue = find_queue(call, request).await?;
    call.service()?.delete_message(&queue, message).await?;
    Ok(Reply::new(StatusCode::NO_CONTENT))
}
