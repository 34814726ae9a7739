//! Peek Messages: visible messages, unchanged and without receipts.

use super::{AuthorizedRequest, Call, Outcome, find_queue, message};
use hyper::StatusCode;
use partita_wire::queue::{MessageView, peek_count};

pub(super) async fn run(call: &Call<'_>, request: &AuthorizedRequest<'_>) -> Outcome {
    let count = peek_count(request.target.query)?;
    let queue = find_queue(call, request).await?;
    let messages = call.service().peek_messages(&queue, count).await?;
    Ok(message::reply(
        call,
        StatusCode::OK,
        MessageView::Peek,
        &messages,
    ))
}
