//! Reads JSON files. Only one entity is in memory at a time.

use super::super::FormatError;
use super::super::read_entities::ReadEntities;
use super::row::{Position, read_row};
use partita_client::Entity;
use std::io::{self, BufRead};

/// Largest entity, in bytes. The largest one of the service takes a little more than 3 MiB if each character is
/// escaped; indentation may add to it.
const ENTITY_BYTES_MAX: usize = 16 * 1024 * 1024;

/// What may follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// The array, or the first entity.
    Start,
    /// An entity without an array around it, or the end.
    Entity,
    /// The first entity of the array, or its end.
    First,
    /// A comma, or the end of the array.
    Comma,
    /// An entity of the array, after a comma.
    Item,
    /// The end of the file.
    End,
}

/// Reads the entities of an array, or entities one after the other.
pub(in super::super) struct Reader<R> {
    input: R,
    next: Next,
    /// The position of the next byte.
    at: Position,
    entity: Vec<u8>,
}

impl<R: BufRead> Reader<R> {
    pub(in super::super) fn new(input: R) -> Self {
        Self {
            input,
            next: Next::Start,
            at: Position::line(1),
            entity: Vec::new(),
        }
    }

    /// The next byte that is not white space, without consuming it; `None` at the end of the file.
    fn peek(&mut self) -> io::Result<Option<u8>> {
        loop {
            let buffer = self.input.fill_buf()?;
            let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
            let blanks = buffer.iter().take_while(|byte| is_blank(byte)).count();
            let next = buffer.get(blanks).copied();
            let is_end = buffer.is_empty();
            self.at.advance(buffer.get(..blanks).unwrap_or_default());
            self.input.consume(blanks);
            if next.is_some() || is_end {
                return Ok(next);
            }
        }
    }

    fn consume(&mut self) {
        self.at.column += 1;
        self.input.consume(1);
    }

    fn skip_byte_order_mark(&mut self) -> io::Result<()> {
        if self.input.fill_buf()?.starts_with(b"\xEF\xBB\xBF") {
            self.input.consume(3);
        }
        Ok(())
    }

    fn error(&self, what: &str) -> FormatError {
        FormatError::row(self.at.place(), format!("not valid JSON: {what}"))
    }

    /// Reads an object, whose opening brace is the next byte.
    fn object(&mut self) -> Result<Entity, FormatError> {
        let start = self.at;
        self.entity.clear();
        let mut end = EndOfObject::default();
        while !end.is_reached() {
            let buffer = self.input.fill_buf()?;
            if buffer.is_empty() {
                let what = "not valid JSON: the file ends within this entity";
                return Err(FormatError::row(start.place(), what));
            }
            let length = end.find(buffer);
            self.entity
                .extend_from_slice(buffer.get(..length).unwrap_or_default());
            self.input.consume(length);
            if self.entity.len() > ENTITY_BYTES_MAX {
                let what = "the entity is larger than 16 MiB";
                return Err(FormatError::row(start.place(), what));
            }
        }
        self.at.advance(&self.entity);
        read_row(&self.entity, start)
    }
}

impl<R: BufRead + Send> ReadEntities for Reader<R> {
    fn read(&mut self) -> Result<Option<Entity>, FormatError> {
        if self.next == Next::Start {
            self.skip_byte_order_mark()?;
        }
        loop {
            let byte = self.peek()?;
            self.next = match (self.next, byte) {
                (Next::Start | Next::Entity | Next::End, None) => return Ok(None),
                (Next::Start | Next::Entity, Some(b'{')) => {
                    self.next = Next::Entity;
                    return self.object().map(Some);
                }
                (Next::First | Next::Item, Some(b'{')) => {
                    self.next = Next::Comma;
                    return self.object().map(Some);
                }
                (Next::Start, Some(b'[')) => Next::First,
                (Next::Comma, Some(b',')) => Next::Item,
                (Next::First | Next::Comma, Some(b']')) => Next::End,
                (_, None) => return Err(self.error("the file ends within the array")),
                (Next::Start, _) => {
                    return Err(self.error("expected an array of entities, or an entity"));
                }
                (Next::Comma, _) => return Err(self.error("expected `,` or `]`")),
                (Next::End, _) => return Err(self.error("text after the end of the array")),
                (Next::Entity | Next::First | Next::Item, _) => {
                    return Err(self.error("expected an entity, which begins with `{`"));
                }
            };
            self.consume();
        }
    }
}

/// Finds the end of an object, without checking its syntax.
#[derive(Debug, Default)]
struct EndOfObject {
    /// The number of open braces and brackets.
    depth: u32,
    has_begun: bool,
    is_in_string: bool,
    is_escaped: bool,
}

impl EndOfObject {
    fn is_reached(&self) -> bool {
        self.has_begun && self.depth == 0
    }

    /// The number of these bytes up to the end of the object, or all.
    fn find(&mut self, bytes: &[u8]) -> usize {
        for (index, byte) in bytes.iter().enumerate() {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' if self.is_in_string => self.is_escaped = true,
                b'"' => self.is_in_string = !self.is_in_string,
                _ if self.is_in_string => {}
                b'{' | b'[' => (self.depth, self.has_begun) = (self.depth + 1, true),
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
            if self.is_reached() {
                return index + 1;
            }
        }
        bytes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<String>, (String, String)> {
        // A small buffer: entities are in several reads.
        let input = io::BufReader::with_capacity(3, text.as_bytes());
        let (mut reader, mut keys) = (Reader::new(input), Vec::new());
        loop {
            match reader.read() {
                Ok(None) => return Ok(keys),
                Ok(Some(entity)) => keys.push(entity.row_key().to_owned()),
                Err(error) => return Err((error.place(), error.to_string())),
            }
        }
    }

    fn row(key: &str) -> String {
        format!("{{\"PartitionKey\": \"}}]\\\"\",\n \"RowKey\": \"{key}\"}}")
    }

    #[test]
    fn arrays_and_sequences_are_read() {
        let (a, b) = (row("a"), row("é"));
        for text in [
            format!("\u{FEFF}[{a},{b}]"),
            format!(" [\n{a} ,\r\n{b}\t]\n"),
            format!("{a}\n{b}\n"),
            format!("{a}{b}"),
        ] {
            assert_eq!(read(&text).unwrap(), ["a", "é"], "{text}");
        }
        for text in ["", " \n", "[]", "[ ] "] {
            assert_eq!(read(text).unwrap(), [""; 0], "{text}");
        }
    }

    #[test]
    fn errors_have_a_place() {
        let a = row("a");
        for (text, place, what) in [
            ("5".to_owned(), ":1:1", "expected an array of entities"),
            (format!("[{a} {a}]"), ":2:17", "expected `,` or `]`"),
            (format!("[{a},]"), ":2:17", "expected an entity"),
            (format!("[{a}"), ":2:16", "the file ends within the array"),
            (format!("[{a}] x"), ":2:18", "text after the end"),
            (
                format!("{a}\n{{\"a\":"),
                ":3:1",
                "the file ends within this entity",
            ),
            (format!("[{a},\n  {{}}]"), ":3:3", "PartitionKey is missing"),
        ] {
            let (found, message) = read(&text).unwrap_err();
            assert!(message.contains(what), "{message}");
            assert_eq!(found, place, "{text}: {message}");
        }
    }
}
