//! Error bodies in XML, for clients.

use super::element::Element;

/// The code and the text of an error: `m:error` with `m:code` and `m:message`; or `Error` with `Code` and `Message`,
/// which other services and some proxies send.
pub(crate) fn read_error_xml(body: &[u8]) -> Option<[String; 2]> {
    let forms = [("error", "code", "message"), ("Error", "Code", "Message")];
    forms.into_iter().find_map(|(root, code, message)| {
        let error = Element::parse(body, root).ok()?;
        let code = error.text_of(code).ok()??;
        let message = error.text_of(message).ok()?.unwrap_or_default();
        Some([code.to_owned(), message.to_owned()])
    })
}
