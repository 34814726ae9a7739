//! Peek Messages: visible messages, unchanged and without receipts.

use super::{AuthorizedRequest, Call, Outcome, find_queue, message};
use hyper::StatusCode;
use partita_service::{Reserved, UNCOUNTED_BYTES};
use partita_wire::queue::{MessageView, peek_count};

pub(super) async fn run(call: &Call<'_>, request: &AuthorizedRequest<'_>) -> Outcome {
    let count = peek_count(request.target.query)?;
    let queue = find_queue(call, request).await?;
    // The answer has its own reservation; this one is for the texts that are read before it is written.
    let mut reserved = Reserved::default();
    let memory = &call.head.front.parts.memory;
    let admit = |bytes| match bytes {
        ..=UNCOUNTED_BYTES => Ok(()),
        _ => reserved.grow_to(memory, 2 * bytes),
    };
    let messages = call.service()?.peek_messages(&queue, count, admit).await?;
    Ok(message::reply(
        call,
        StatusCode::OK,
        MessageView::Peek,
        &messages,
    ))
}
