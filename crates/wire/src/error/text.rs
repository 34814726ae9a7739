//! The text of an error body, which ends in the same two lines in every service.

use super::Failure;
use partita_model::DateTime;

/// The id and the time of a failed request, shown in the last two lines of every error text.
#[derive(Debug, Clone, Copy)]
pub struct Occurrence<'a> {
    /// The value of the header `x-ms-request-id`.
    pub request_id: &'a str,
    /// The server's time.
    pub time: DateTime,
    /// Zero-based index of the failed operation, if the error of a batch must name it.
    pub batch_index: Option<usize>,
}

impl Failure {
    /// Appends the text with request id and time; `push` escapes each part.
    pub(crate) fn write_text(
        &self,
        at: &Occurrence<'_>,
        out: &mut Vec<u8>,
        push: fn(&str, &mut Vec<u8>),
    ) {
        if let Some(index) = at.batch_index {
            push(&index.to_string(), out);
            push(":", out);
        }
        push(self.text(), out);
        push("\nRequestId:", out);
        push(at.request_id, out);
        push("\nTime:", out);
        push(&at.time.text_seven_digits(), out);
    }
}
