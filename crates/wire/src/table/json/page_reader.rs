//! Reads entities from answers: a single entity, or row by row from a page. Clients use this to read what
//! [`super::EntityWriter`] writes.
//!
//! The reader builds no tree. A row is a few slices of the body until a caller reads its properties, and a string
//! without escapes is borrowed. The next row reuses the memory of the row before.
//!
//! Annotations may be before or after their property, as in request bodies. Members of a page other than `value` are
//! ignored. So are nulls, which the answer to a `$select` contains for missing properties.

use super::entity_reader::{Member, Members, is_key, text_of};
use super::typed_value::{Scratch, unreadable};
use crate::Failure;
use crate::json::{Scanner, Token};
use partita_model::{DateTime, ValueRef};
use std::borrow::Cow;

/// The rows of a page, in their order.
#[derive(Debug)]
pub struct PageReader<'a> {
    scanner: Scanner<'a>,
    members: Members<'a>,
    scratch: Scratch,
    /// Whether a row has been read, so that a comma must precede the next one.
    begun: bool,
    ended: bool,
}

/// One row of an answer, not decoded yet.
#[derive(Debug)]
pub struct RowReader<'r, 'a> {
    source: &'a str,
    members: &'r Members<'a>,
    scratch: &'r mut Scratch,
}

impl<'a> PageReader<'a> {
    /// Finds the list of rows in the answer of a query of entities or of tables.
    ///
    /// # Errors
    /// 400 InvalidInput for a body that is not a JSON object, or without a list `value`.
    pub fn new(body: &'a [u8]) -> Result<Self, Failure> {
        let mut scanner = Scanner::new(body).ok_or_else(unreadable)?;
        if !scanner.take(b'{') {
            return Err(unreadable());
        }
        loop {
            if text_of(scanner.name().ok_or_else(unreadable)?)? == "value" {
                break;
            }
            scanner.value().ok_or_else(unreadable)?;
            if !scanner.take(b',') {
                return Err(unreadable());
            }
        }
        if !scanner.take(b'[') {
            return Err(unreadable());
        }
        Ok(Self::at(scanner))
    }

    fn at(scanner: Scanner<'a>) -> Self {
        Self {
            scanner,
            members: Members::default(),
            scratch: Scratch::default(),
            begun: false,
            ended: false,
        }
    }

    /// The next row; `None` after the last row, and after an error.
    ///
    /// # Errors
    /// 400 InvalidInput for a row that is not a JSON object, and for a truncated page.
    pub fn next_row(&mut self) -> Result<Option<RowReader<'_, 'a>>, Failure> {
        if self.ended {
            return Ok(None);
        }
        self.ended = true;
        if self.scanner.take(b']') {
            return self.end().map(|()| None);
        }
        if self.begun && !self.scanner.take(b',') {
            return Err(unreadable());
        }
        let source = self.scanner.taking(|scanner| self.members.read(scanner))?;
        (self.begun, self.ended) = (true, false);
        Ok(Some(RowReader {
            source,
            members: &self.members,
            scratch: &mut self.scratch,
        }))
    }

    /// Reads the members after the list and the end of the body.
    fn end(&mut self) -> Result<(), Failure> {
        while self.scanner.take(b',') {
            self.scanner.name().ok_or_else(unreadable)?;
            self.scanner.value().ok_or_else(unreadable)?;
        }
        if self.scanner.take(b'}') && self.scanner.is_done() {
            Ok(())
        } else {
            Err(unreadable())
        }
    }
}

/// Reads an answer with a single entity: passes its row to `read`, and returns the result.
///
/// # Errors
/// 400 InvalidInput for a body that is not a JSON object; the errors of `read`.
pub fn read_row<T>(
    body: &[u8],
    read: impl FnOnce(RowReader<'_, '_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let mut page = PageReader::at(Scanner::new(body).ok_or_else(unreadable)?);
    let source = page.scanner.taking(|scanner| page.members.read(scanner))?;
    if !page.scanner.is_done() {
        return Err(unreadable());
    }
    read(RowReader {
        source,
        members: &page.members,
        scratch: &mut page.scratch,
    })
}

impl<'a> RowReader<'_, 'a> {
    /// The raw row, a JSON object. Callers can keep it and read it later with [`read_row`].
    pub const fn source(&self) -> &'a str {
        self.source
    }

    /// The PartitionKey, if the answer shows it.
    ///
    /// # Errors
    /// 400 InvalidInput if it is not text.
    pub fn partition_key(&self) -> Result<Option<Cow<'a, str>>, Failure> {
        self.text("PartitionKey")
    }

    /// The RowKey, if the answer shows it.
    ///
    /// # Errors
    /// 400 InvalidInput if it is not text.
    pub fn row_key(&self) -> Result<Option<Cow<'a, str>>, Failure> {
        self.text("RowKey")
    }

    /// The ETag, which answers with minimal or full metadata show.
    ///
    /// # Errors
    /// 400 InvalidInput if it is not text.
    pub fn etag(&self) -> Result<Option<Cow<'a, str>>, Failure> {
        self.members.etag.map(text_of).transpose()
    }

    /// When the entity was last written, if the answer shows it.
    ///
    /// # Errors
    /// 400 InvalidInput if it is not a date-time.
    pub fn timestamp(&self) -> Result<Option<DateTime>, Failure> {
        match self.members.timestamp {
            None | Some(Token::Null) => Ok(None),
            Some(token) => DateTime::parse(&text_of(token)?)
                .map(Some)
                .map_err(|_| unreadable()),
        }
    }

    /// The number of members including the keys: an upper bound for the number of properties.
    pub fn members(&self) -> usize {
        self.members.found.len()
    }

    /// Calls `take` for each custom property, in the order of the answer, with the index of the member, the name and
    /// the value.
    ///
    /// # Errors
    /// 400 InvalidInput for a value that does not fit its type.
    pub fn properties(
        self,
        mut take: impl FnMut(usize, &str, ValueRef<'_>),
    ) -> Result<(), Failure> {
        for (index, Member { name, value, edm }) in self.members.found.iter().enumerate() {
            if is_key(name) || name.contains('@') {
                continue;
            }
            if let Some(value) = self.scratch.value(name, *value, *edm)? {
                take(index, name, value);
            }
        }
        Ok(())
    }

    fn text(&self, wanted: &str) -> Result<Option<Cow<'a, str>>, Failure> {
        let found = self
            .members
            .found
            .iter()
            .find(|member| member.name == wanted);
        match found.map(|member| member.value) {
            None | Some(Token::Null) => Ok(None),
            Some(token) => text_of(token).map(Some),
        }
    }
}
