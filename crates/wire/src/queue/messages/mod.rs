//! `QueueMessagesList`: the answer of Put Message, Get Messages and Peek Messages, for servers and for clients.

use crate::xml::{
    Bounds, Element, invalid, write_declaration, write_empty, write_end, write_start, write_text,
};
use crate::{Failure, Version, http_date, parse_http_date};
use partita_model::limits::MESSAGES_MAX;
use partita_model::{DateTime, Guid};

/// The first version with a body of Put Message, and with the receipt of a message before its count (2016-05-31; the
/// recordings of 2015-04-05 have neither).
const RECEIPT_FIRST: Version = Version::from_date(20_160_531);
/// The bounds of an answer: the largest texts with every character escaped.
const BOUNDS: Bounds = Bounds {
    bytes_max: 32 * 1024 * 1024,
    nodes_max: 16 * (MESSAGES_MAX + 1),
};

/// A message, as an answer shows it.
#[derive(Debug, Clone, Copy)]
pub struct MessageFields<'a> {
    /// `MessageId`
    pub id: Guid,
    /// `InsertionTime`
    pub inserted: DateTime,
    /// `ExpirationTime`; [`DateTime::MAX`] for a message that never expires.
    pub expires: DateTime,
    /// `PopReceipt`
    pub receipt: &'a str,
    /// `TimeNextVisible`
    pub next_visible: DateTime,
    /// `DequeueCount`
    pub dequeue_count: u32,
    /// `MessageText`, in UTF-8.
    pub text: &'a [u8],
}

/// The operation that an answer belongs to; it decides which elements a message has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageView {
    /// Put Message: no count and no text. Before version 2016-05-31 the body is empty.
    Put,
    /// Get Messages: all elements.
    Get,
    /// Peek Messages: no receipt and no time of visibility.
    Peek,
}

/// Appends the body of an answer with these messages.
pub fn write_messages<'m>(
    view: MessageView,
    version: Version,
    messages: impl IntoIterator<Item = MessageFields<'m>>,
    out: &mut Vec<u8>,
) {
    let receipt_first = version >= RECEIPT_FIRST;
    if view == MessageView::Put && !receipt_first {
        return;
    }
    write_declaration(out);
    let mut messages = messages.into_iter().peekable();
    if messages.peek().is_none() {
        return write_empty("QueueMessagesList", out);
    }
    write_start("QueueMessagesList", out);
    for message in messages {
        message.write(view, receipt_first, out);
    }
    write_end("QueueMessagesList", out);
}

impl MessageFields<'_> {
    fn write(&self, view: MessageView, receipt_first: bool, out: &mut Vec<u8>) {
        write_start("QueueMessage", out);
        write_text("MessageId", &self.id.text(), out);
        write_text("InsertionTime", &http_date(self.inserted), out);
        write_text("ExpirationTime", &http_date(self.expires), out);
        match view {
            MessageView::Put => self.write_receipt(out),
            MessageView::Get if receipt_first => {
                self.write_receipt(out);
                self.write_count(out);
            }
            MessageView::Get => {
                self.write_count(out);
                self.write_receipt(out);
            }
            MessageView::Peek => self.write_count(out),
        }
        if view != MessageView::Put {
            write_text("MessageText", &String::from_utf8_lossy(self.text), out);
        }
        write_end("QueueMessage", out);
    }

    fn write_receipt(&self, out: &mut Vec<u8>) {
        write_text("PopReceipt", self.receipt, out);
        write_text("TimeNextVisible", &http_date(self.next_visible), out);
    }

    fn write_count(&self, out: &mut Vec<u8>) {
        write_text("DequeueCount", &self.dequeue_count.to_string(), out);
    }
}

/// A message in the answer of Put Message, Get Messages or Peek Messages, with the elements that the answer has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivedMessage {
    /// `MessageId`, a GUID in the service.
    pub id: String,
    /// `InsertionTime`
    pub inserted: DateTime,
    /// `ExpirationTime`; the last second of the year 9999 for a message that never expires.
    pub expires: DateTime,
    /// `PopReceipt`, not in Peek Messages.
    pub receipt: Option<String>,
    /// `TimeNextVisible`, not in Peek Messages.
    pub next_visible: Option<DateTime>,
    /// `DequeueCount`, not in Put Message.
    pub dequeue_count: Option<u32>,
    /// `MessageText`, not in Put Message.
    pub text: Option<String>,
}

/// Reads the messages of an answer. An empty body, as before version 2016-05-31, has none.
///
/// # Errors
/// 400 InvalidXmlDocument.
pub fn read_messages(body: &[u8]) -> Result<Vec<ReceivedMessage>, Failure> {
    if body.is_empty() {
        return Ok(Vec::new());
    }
    let root = Element::read(body, BOUNDS)?;
    if root.name != "QueueMessagesList" {
        return Err(invalid());
    }
    root.children
        .into_iter()
        .filter(|child| child.name == "QueueMessage")
        .map(ReceivedMessage::read)
        .collect()
}

impl ReceivedMessage {
    fn read(mut element: Element) -> Result<Self, Failure> {
        // Taken, not copied, and not trimmed: it can be large, and its blanks count.
        let text = element
            .children
            .iter_mut()
            .find(|child| child.name == "MessageText")
            .map(|child| std::mem::take(&mut child.text));
        let part = |name| element.text_of(name);
        let time = |name| {
            let text = element.text_of(name)?;
            text.map(|text| parse_http_date(text).ok_or_else(invalid))
                .transpose()
        };
        let count = part("DequeueCount")?.map(|count| count.parse().map_err(|_| invalid()));
        Ok(Self {
            id: part("MessageId")?.ok_or_else(invalid)?.to_owned(),
            inserted: time("InsertionTime")?.ok_or_else(invalid)?,
            expires: time("ExpirationTime")?.ok_or_else(invalid)?,
            receipt: part("PopReceipt")?.map(str::to_owned),
            next_visible: time("TimeNextVisible")?,
            dequeue_count: count.transpose()?,
            text,
        })
    }
}

#[cfg(test)]
mod tests;
