//! Reads small XML documents into trees, bounded in bytes, depth and nodes, and writes elements.

use crate::{ErrorCode, Failure};
use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesRef, Event};

/// The maximum size of a document, in bytes. Five policies or rules at their limits need a tenth of it.
const DOCUMENT_BYTES_MAX: usize = 64 * 1024;
/// The maximum nesting of nodes; service properties have a nesting of four.
const DEPTH_MAX: usize = 8;
/// The maximum number of nodes of a document.
const NODES_MAX: usize = 512;
const BYTE_ORDER_MARK: &str = "\u{FEFF}";

/// An element: its local name, its whole text and its children.
#[derive(Debug, Default)]
pub(super) struct Element {
    pub(super) name: String,
    pub(super) text: String,
    pub(super) children: Vec<Element>,
}

/// The failure for every invalid document.
pub(super) fn invalid() -> Failure {
    ErrorCode::InvalidXmlDocument.into()
}

impl Element {
    /// Reads a document whose root has this name.
    pub(super) fn parse(body: &[u8], root: &str) -> Result<Self, Failure> {
        let text = std::str::from_utf8(body).map_err(|_| invalid())?;
        if text.len() > DOCUMENT_BYTES_MAX || !text.chars().all(is_xml_char) {
            return Err(invalid());
        }
        let mut reader = Reader::from_str(text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text));
        // The first element of the stack stands for the document, and contains the root element.
        let mut open = vec![Self::default()];
        let mut nodes = 0;
        loop {
            let event = reader.read_event().map_err(|_| invalid())?;
            if matches!(event, Event::Start(_) | Event::Empty(_)) {
                nodes += 1;
            }
            if nodes > NODES_MAX || open.len() > DEPTH_MAX {
                return Err(invalid());
            }
            match event {
                Event::Start(start) => open.push(Self::named(start.local_name().into_inner())),
                Event::Empty(empty) => last(&mut open)?
                    .children
                    .push(Self::named(empty.local_name().into_inner())),
                Event::End(_) => {
                    let shut = open.pop().ok_or_else(invalid)?;
                    last(&mut open)?.children.push(shut);
                }
                Event::Text(text) => last(&mut open)?.text.push_str(&text.xml10_content()),
                Event::CData(text) => last(&mut open)?.text.push_str(&text.xml10_content()),
                Event::GeneralRef(reference) => {
                    last(&mut open)?.text.push_str(&resolve(&reference)?)
                }
                Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
                // A document type can define entities that expand without bound.
                Event::DocType(_) => return Err(invalid()),
                Event::Eof => break,
            }
        }
        let document = open.pop().filter(|_| open.is_empty()).ok_or_else(invalid)?;
        match <[Self; 1]>::try_from(document.children) {
            Ok([element]) if element.name == root && document.text.trim().is_empty() => Ok(element),
            _ => Err(invalid()),
        }
    }

    fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ..Self::default()
        }
    }

    /// Checks that the element has only children of these names, and no text.
    pub(super) fn check_children(&self, names: &[&str]) -> Result<(), Failure> {
        let is_known = |child: &Self| names.contains(&child.name.as_str());
        let is_valid = self.text.trim().is_empty() && self.children.iter().all(is_known);
        is_valid.then_some(()).ok_or_else(invalid)
    }

    /// The child with this name; an error if there are two.
    pub(super) fn child(&self, name: &str) -> Result<Option<&Self>, Failure> {
        let mut found = self.children.iter().filter(|child| child.name == name);
        let first = found.next();
        match found.next() {
            None => Ok(first),
            Some(_) => Err(invalid()),
        }
    }

    /// The trimmed text of the child of this name; `None` without the child.
    pub(super) fn text_of(&self, name: &str) -> Result<Option<&str>, Failure> {
        match self.child(name)? {
            Some(child) if !child.children.is_empty() => Err(invalid()),
            Some(child) => Ok(Some(child.text.trim())),
            None => Ok(None),
        }
    }

    /// The child of this name as a Boolean; `None` without the child.
    pub(super) fn bool_of(&self, name: &str) -> Result<Option<bool>, Failure> {
        match self.text_of(name)? {
            None => Ok(None),
            Some("true" | "1") => Ok(Some(true)),
            Some("false" | "0") => Ok(Some(false)),
            Some(_) => Err(invalid()),
        }
    }
}

fn last(open: &mut [Element]) -> Result<&mut Element, Failure> {
    open.last_mut().ok_or_else(invalid)
}

fn resolve(reference: &BytesRef<'_>) -> Result<String, Failure> {
    if let Some(c) = reference.resolve_char_ref().map_err(|_| invalid())? {
        return is_xml_char(c).then(|| c.to_string()).ok_or_else(invalid);
    }
    resolve_predefined_entity(reference)
        .map(str::to_owned)
        .ok_or_else(invalid)
}

/// Appends the byte order mark and the declaration, as recorded.
pub(super) fn write_declaration(out: &mut Vec<u8>) {
    out.extend_from_slice(BYTE_ORDER_MARK.as_bytes());
    out.extend_from_slice(b"<?xml version=\"1.0\" encoding=\"utf-8\"?>");
}

/// Appends an element with a text; an empty text is written as `<Name />`.
pub(super) fn write_text(name: &str, text: &str, out: &mut Vec<u8>) {
    if text.is_empty() {
        return write_empty(name, out);
    }
    write_start(name, out);
    push_text(text, out);
    write_end(name, out);
}

pub(super) fn write_bool(name: &str, value: bool, out: &mut Vec<u8>) {
    write_text(name, if value { "true" } else { "false" }, out);
}

pub(crate) fn write_start(name: &str, out: &mut Vec<u8>) {
    push_all(["<", name, ">"], out);
}

pub(crate) fn write_end(name: &str, out: &mut Vec<u8>) {
    push_all(["</", name, ">"], out);
}

pub(super) fn write_empty(name: &str, out: &mut Vec<u8>) {
    push_all(["<", name, " />"], out);
}

fn push_all(parts: [&str; 3], out: &mut Vec<u8>) {
    for part in parts {
        out.extend_from_slice(part.as_bytes());
    }
}

/// Appends text to XML. Characters that XML 1.0 cannot hold become U+FFFD.
pub(crate) fn push_text(text: &str, out: &mut Vec<u8>) {
    for c in text.chars() {
        match c {
            '<' => out.extend_from_slice(b"&lt;"),
            '>' => out.extend_from_slice(b"&gt;"),
            '&' => out.extend_from_slice(b"&amp;"),
            '\t' | '\n' => out.push(c as u8),
            '\r' => out.extend_from_slice(b"&#xD;"),
            c if !is_xml_char(c) => out.extend_from_slice("\u{FFFD}".as_bytes()),
            _ => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
}

/// Whether XML 1.0 allows the character in a document, literal or as a reference (XML 1.0, production 2, `Char`).
fn is_xml_char(c: char) -> bool {
    !matches!(c, '\0'..='\u{8}' | '\u{B}' | '\u{C}' | '\u{E}'..='\u{1F}' | '\u{FFFE}' | '\u{FFFF}')
}
