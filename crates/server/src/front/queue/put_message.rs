//! Put Message. The body is read before the queue is looked up (recording
//! python--test_queue_encodings_test_message_text_xml_invalid_chars).

use super::{AuthorizedRequest, Call, Outcome, find_queue, message};
use hyper::StatusCode;
use partita_queue::PutMessage;
use partita_wire::queue::{MessageView, PutParameters, read_message};

pub(super) async fn run(call: &Call<'_>, request: &AuthorizedRequest<'_>) -> Outcome {
    let parameters = PutParameters::parse(request.target.query, call.version())?;
    let new = PutMessage {
        text: read_message(&request.body)?.into(),
        visibility_timeout: parameters.visibility_timeout,
        time_to_live: parameters.time_to_live,
    };
    let queue = find_queue(call, request).await?;
    let put = call.service()?.put_message(&queue, new).await?;
    let mut reply = message::reply(call, StatusCode::CREATED, MessageView::Put, &[put]);
    reply.entities = 0;
    Ok(reply)
}
