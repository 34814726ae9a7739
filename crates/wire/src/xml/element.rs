//! Reads small XML documents into trees, bounded in bytes, depth and nodes, and writes elements.

use crate::{ErrorCode, Failure};
use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesRef, Event};

/// The maximum nesting of nodes; service properties have a nesting of four.
const DEPTH_MAX: usize = 8;
const BYTE_ORDER_MARK: &str = "\u{FEFF}";

/// The maximum size of a document.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) bytes_max: usize,
    pub(crate) nodes_max: usize,
}

impl Bounds {
    /// The bounds of service properties and access policies. Five policies or rules at their limits need a tenth.
    pub(crate) const SMALL: Self = Self {
        bytes_max: 64 * 1024,
        nodes_max: 512,
    };
}

/// The document is not XML: the byte at which this was found, or `None` if it is outside the bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed {
    pub(crate) at: Option<usize>,
}

impl From<Malformed> for Failure {
    fn from(_: Malformed) -> Self {
        invalid()
    }
}

/// An element: its local name, its whole text and its children.
#[derive(Debug, Default)]
pub(crate) struct Element {
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) children: Vec<Element>,
}

/// The failure for every invalid document.
pub(crate) fn invalid() -> Failure {
    ErrorCode::InvalidXmlDocument.into()
}

impl Element {
    /// Reads a document whose root has this name, within [`Bounds::SMALL`].
    pub(crate) fn parse(body: &[u8], root: &str) -> Result<Self, Failure> {
        let element = Self::read(body, Bounds::SMALL)?;
        (element.name == root)
            .then_some(element)
            .ok_or_else(invalid)
    }

    /// Reads the root of a document. Line ends in texts are kept as they are.
    pub(crate) fn read(body: &[u8], bounds: Bounds) -> Result<Self, Malformed> {
        if body.len() > bounds.bytes_max {
            return Err(Malformed { at: None });
        }
        let text = match std::str::from_utf8(body) {
            Ok(text) => text,
            Err(error) => return Err(Malformed::at(error.valid_up_to())),
        };
        if let Some(at) = text.find(|c| !is_xml_char(c)) {
            return Err(Malformed::at(at));
        }
        let content = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
        let offset = text.len() - content.len();
        let mut reader = Reader::from_str(content);
        Self::read_root(&mut reader, bounds.nodes_max).map_err(|fault| match fault {
            Fault::Syntax => Malformed::at(offset + position(reader.error_position())),
            Fault::Content => Malformed::at(offset + position(reader.buffer_position())),
            Fault::Size => Malformed { at: None },
        })
    }

    fn read_root(reader: &mut Reader<&[u8]>, nodes_max: usize) -> Result<Self, Fault> {
        // The first element of the stack stands for the document, and contains the root element.
        let mut open = vec![Self::default()];
        let mut nodes = 0;
        loop {
            let event = reader.read_event().map_err(|_| Fault::Syntax)?;
            if matches!(event, Event::Start(_) | Event::Empty(_)) {
                nodes += 1;
            }
            if nodes > nodes_max || open.len() > DEPTH_MAX {
                return Err(Fault::Size);
            }
            match event {
                Event::Start(start) => open.push(Self::named(start.local_name().into_inner())),
                Event::Empty(empty) => last(&mut open)?
                    .children
                    .push(Self::named(empty.local_name().into_inner())),
                Event::End(_) => {
                    let shut = open.pop().ok_or(Fault::Content)?;
                    last(&mut open)?.children.push(shut);
                }
                Event::Text(text) => last(&mut open)?.text.push_str(&text.into_inner()),
                Event::CData(text) => last(&mut open)?.text.push_str(&text.into_inner()),
                Event::GeneralRef(reference) => {
                    last(&mut open)?.text.push_str(&resolve(&reference)?)
                }
                Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
                // A document type can define entities that expand without bound.
                Event::DocType(_) => return Err(Fault::Content),
                Event::Eof => break,
            }
        }
        let document = open
            .pop()
            .filter(|_| open.is_empty())
            .ok_or(Fault::Content)?;
        match <[Self; 1]>::try_from(document.children) {
            Ok([element]) if document.text.trim().is_empty() => Ok(element),
            _ => Err(Fault::Content),
        }
    }

    fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ..Self::default()
        }
    }

    /// Checks that the element has only children of these names, and no text.
    pub(crate) fn check_children(&self, names: &[&str]) -> Result<(), Failure> {
        let is_known = |child: &Self| names.contains(&child.name.as_str());
        let is_valid = self.text.trim().is_empty() && self.children.iter().all(is_known);
        is_valid.then_some(()).ok_or_else(invalid)
    }

    /// The child with this name; an error if there are two.
    pub(crate) fn child(&self, name: &str) -> Result<Option<&Self>, Failure> {
        let mut found = self.children.iter().filter(|child| child.name == name);
        let first = found.next();
        match found.next() {
            None => Ok(first),
            Some(_) => Err(invalid()),
        }
    }

    /// The trimmed text of the child of this name; `None` without the child.
    pub(crate) fn text_of(&self, name: &str) -> Result<Option<&str>, Failure> {
        match self.child(name)? {
            Some(child) if !child.children.is_empty() => Err(invalid()),
            Some(child) => Ok(Some(child.text.trim())),
            None => Ok(None),
        }
    }

    /// The child of this name as a Boolean; `None` without the child. Old Python clients write `True` and `False`
    /// (recording storagepython--test_service_properties_test_queue_service_properties).
    pub(super) fn bool_of(&self, name: &str) -> Result<Option<bool>, Failure> {
        match self.text_of(name)? {
            None => Ok(None),
            Some("true" | "True" | "1") => Ok(Some(true)),
            Some("false" | "False" | "0") => Ok(Some(false)),
            Some(_) => Err(invalid()),
        }
    }
}

/// Why a document is refused.
enum Fault {
    /// At the position where the reader found an error.
    Syntax,
    /// At the position up to which the reader has read.
    Content,
    /// Outside the bounds.
    Size,
}

impl Malformed {
    const fn at(at: usize) -> Self {
        Self { at: Some(at) }
    }
}

fn position(position: u64) -> usize {
    usize::try_from(position).unwrap_or(usize::MAX)
}

fn last(open: &mut [Element]) -> Result<&mut Element, Fault> {
    open.last_mut().ok_or(Fault::Content)
}

fn resolve(reference: &BytesRef<'_>) -> Result<String, Fault> {
    let character = reference.resolve_char_ref().map_err(|_| Fault::Content)?;
    if let Some(c) = character {
        return is_xml_char(c).then(|| c.to_string()).ok_or(Fault::Content);
    }
    resolve_predefined_entity(reference)
        .map(str::to_owned)
        .ok_or(Fault::Content)
}

/// Appends the byte order mark and the declaration, as recorded in answers.
pub(crate) fn write_declaration(out: &mut Vec<u8>) {
    out.extend_from_slice(BYTE_ORDER_MARK.as_bytes());
    write_declaration_only(out);
}

/// Appends the declaration, as clients write it.
pub(crate) fn write_declaration_only(out: &mut Vec<u8>) {
    out.extend_from_slice(b"<?xml version=\"1.0\" encoding=\"utf-8\"?>");
}

/// Appends an element with a text; an empty text is written as `<Name />`.
pub(crate) fn write_text(name: &str, text: &str, out: &mut Vec<u8>) {
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

pub(crate) fn write_empty(name: &str, out: &mut Vec<u8>) {
    push_all(["<", name, " />"], out);
}

fn push_all(parts: [&str; 3], out: &mut Vec<u8>) {
    for part in parts {
        out.extend_from_slice(part.as_bytes());
    }
}

/// Appends text to XML. Characters that XML 1.0 cannot hold become U+FFFD.
pub(crate) fn push_text(text: &str, out: &mut Vec<u8>) {
    let mut rest = text;
    while let Some(at) = rest.find(|c| matches!(c, '<' | '>' | '&' | '\r') || !is_xml_char(c)) {
        let (plain, special) = rest.split_at_checked(at).unwrap_or((rest, ""));
        out.extend_from_slice(plain.as_bytes());
        let mut after = special.chars();
        let escaped = match after.next() {
            Some('<') => "&lt;",
            Some('>') => "&gt;",
            Some('&') => "&amp;",
            Some('\r') => "&#xD;",
            _ => "\u{FFFD}",
        };
        out.extend_from_slice(escaped.as_bytes());
        rest = after.as_str();
    }
    out.extend_from_slice(rest.as_bytes());
}

/// Whether XML 1.0 allows the character in a document, literal or as a reference (XML 1.0, production 2, `Char`).
pub(crate) fn is_xml_char(c: char) -> bool {
    !matches!(c, '\0'..='\u{8}' | '\u{B}' | '\u{C}' | '\u{E}'..='\u{1F}' | '\u{FFFE}' | '\u{FFFF}')
}
