//! What the operations on messages share: the message that a request names, and the answer with messages.

use super::call::{AuthorizedRequest, Call, XML};
use super::{Refused, Reply};
use hyper::StatusCode;
use partita_queue::{Error, Message, MessageRef, PopReceipt};
use partita_wire::queue::{MessageFields, MessageView, invalid_pop_receipt, write_messages};

/// Bytes of XML of a message in addition to its text.
const MESSAGE_XML_BYTES: usize = 512;

/// The message of the path, with its receipt. The id comes first (recordings net--MessageIdClientTests_DeleteAsync_Error
/// and UpdateAsync_Error).
pub(super) fn message_of(
    request: &AuthorizedRequest<'_>,
    receipt: &str,
) -> Result<MessageRef, Refused> {
    let id = request.own.resource.message_id()?;
    let id = id.ok_or(Error::MessageNotFound)?;
    let receipt = PopReceipt::parse(receipt).map_err(|_| invalid_pop_receipt(receipt))?;
    Ok(MessageRef { id, receipt })
}

/// The answer with messages; without a body where the version has none.
pub(super) fn reply(
    call: &Call<'_>,
    status: StatusCode,
    view: MessageView,
    messages: &[Message],
) -> Reply {
    let receipts: Vec<String> = messages.iter().map(|it| it.receipt.to_string()).collect();
    let fields = messages.iter().zip(&receipts);
    let fields = fields.map(|(message, receipt)| MessageFields {
        id: message.id,
        inserted: message.inserted,
        expires: message.expires,
        receipt,
        next_visible: message.next_visible,
        dequeue_count: message.dequeue_count,
        text: &message.text,
    });
    let bytes = messages.iter().map(|it| it.text.len() + MESSAGE_XML_BYTES);
    let mut body = Vec::with_capacity(bytes.sum::<usize>() + MESSAGE_XML_BYTES);
    write_messages(view, call.version(), fields, &mut body);
    let mut reply = Reply::new(status);
    reply.entities = messages.len() as u64;
    if body.is_empty() {
        return reply;
    }
    reply.body(XML, body)
}
