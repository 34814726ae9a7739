//! Decodes keys field by field.

use super::text::{END, read_text};
use super::{KeyError, KeyKind, TableId};
use std::borrow::Cow;

/// The remaining fields of a key.
#[derive(Debug, Clone, Copy)]
pub struct KeyReader<'a> {
    rest: &'a [u8],
}

impl<'a> KeyReader<'a> {
    /// The fields after a prefix.
    pub const fn new(rest: &'a [u8]) -> Self {
        Self { rest }
    }

    /// The fields of a key of the expected kind.
    ///
    /// # Errors
    /// [`KeyError`] for any other kind.
    pub fn of_kind(key: &'a [u8], kind: KeyKind) -> Result<Self, KeyError> {
        match key.split_first() {
            Some((&first, rest)) if first == kind.byte() => Ok(Self { rest }),
            _ => Err(KeyError),
        }
    }

    /// The next text, up to its terminator.
    ///
    /// # Errors
    /// [`KeyError`] without a terminator, for a wrong escape, or bytes that are not UTF-8.
    pub fn text(&mut self) -> Result<Cow<'a, str>, KeyError> {
        let end = self
            .rest
            .iter()
            .position(|&byte| byte == END)
            .ok_or(KeyError)?;
        let (field, rest) = self.rest.split_at(end);
        self.rest = rest.get(1..).ok_or(KeyError)?;
        read_text(field)
    }

    /// The id of a table or a queue: eight bytes.
    ///
    /// # Errors
    /// [`KeyError`] when fewer than eight bytes are left.
    pub fn id(&mut self) -> Result<u64, KeyError> {
        let (id, rest) = self.rest.split_first_chunk::<8>().ok_or(KeyError)?;
        self.rest = rest;
        Ok(u64::from_be_bytes(*id))
    }

    /// The table id.
    ///
    /// # Errors
    /// Those of [`Self::id`].
    pub fn table_id(&mut self) -> Result<TableId, KeyError> {
        self.id().map(TableId)
    }

    /// Checks that no field is left.
    ///
    /// # Errors
    /// [`KeyError`] when bytes are left.
    pub const fn end(self) -> Result<(), KeyError> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(KeyError)
        }
    }

    /// The last text: the rest of the key.
    ///
    /// # Errors
    /// [`KeyError`] for a wrong escape, or bytes that are not UTF-8.
    pub fn last_text(self) -> Result<Cow<'a, str>, KeyError> {
        read_text(self.rest)
    }
}
