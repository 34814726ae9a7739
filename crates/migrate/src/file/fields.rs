//! Typed access to the keys of a TOML table. Errors name line and column.

use super::FileError;
use std::ops::Range;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Minimum similarity (0 to 1) at which an error suggests a known name for an unknown one.
const ALIKE: f64 = 0.75;

/// The text of a file, with its path.
#[derive(Debug, Clone, Copy)]
pub(super) struct Text<'t> {
    pub(super) path: &'t Path,
    pub(super) text: &'t str,
}

/// A part of a file, as byte offsets.
pub(super) type Span = Range<usize>;

impl Text<'_> {
    /// An error at this position of the file.
    pub(super) fn error(&self, span: &Span, what: &str) -> FileError {
        let before = self.text.get(..span.start).unwrap_or(self.text);
        let (_, line) = before.rsplit_once('\n').unwrap_or(("", before));
        FileError {
            path: self.path.to_owned(),
            line: before.matches('\n').count() + 1,
            column: line.chars().count() + 1,
            what: what.to_owned(),
        }
    }
}

/// A TOML table of a migration file.
#[derive(Debug, Clone)]
pub(super) struct Fields<'t> {
    pub(super) text: Text<'t>,
    pub(super) table: &'t DeTable<'t>,
    pub(super) span: Span,
    /// The position of this TOML table as errors name it, such as `up, number 1`. Empty for the whole file.
    pub(super) place: String,
}

impl<'t> Fields<'t> {
    /// An error at this position of the file, which is in this table.
    pub(super) fn error(&self, span: &Span, what: &str) -> FileError {
        match &*self.place {
            "" => self.text.error(span, what),
            place => self.text.error(span, &format!("{what} ({place})")),
        }
    }

    /// The error for a missing key.
    pub(super) fn missing(&self, key: &str) -> FileError {
        self.error(&self.span, &format!("{key} is missing"))
    }

    /// Returns an error for a key that is not known.
    pub(super) fn check_known(&self, known: &[&str]) -> Result<(), FileError> {
        for key in self.table.keys() {
            let name: &str = key.get_ref();
            if known.contains(&name) {
                continue;
            }
            let what = match alike(name, known) {
                Some(meant) => format!("unknown key {name}; did you mean {meant}?"),
                None => format!("unknown key {name}; expected one of {}", known.join(", ")),
            };
            return Err(self.error(&key.span(), &what));
        }
        Ok(())
    }

    fn get(&self, key: &str) -> Option<&'t Spanned<DeValue<'t>>> {
        let mut fields = self.table.iter();
        let (_, value) = fields.find(|(name, _)| *name.get_ref() == key)?;
        Some(value)
    }

    /// All keys and values, in the order of the file.
    pub(super) fn each(&self) -> Vec<(&'t str, Span, &'t Spanned<DeValue<'t>>)> {
        let fields = self.table.iter();
        let mut fields: Vec<_> = fields
            .map(|(name, value)| (&**name.get_ref(), name.span(), value))
            .collect();
        fields.sort_by_key(|(_, span, _)| span.start);
        fields
    }

    fn typed<T>(
        &self,
        key: &str,
        expected: &str,
        read: impl FnOnce(&'t DeValue<'t>) -> Option<T>,
    ) -> Result<Option<(T, Span)>, FileError> {
        let Some(value) = self.get(key) else {
            return Ok(None);
        };
        match read(value.get_ref()) {
            Some(read) => Ok(Some((read, value.span()))),
            None => {
                let found = value.get_ref().type_str();
                let what = format!("{key} must be {expected}, not {found}");
                Err(self.error(&value.span(), &what))
            }
        }
    }

    pub(super) fn string(&self, key: &str) -> Result<Option<(&'t str, Span)>, FileError> {
        self.typed(key, "a string", DeValue::as_str)
    }

    pub(super) fn required(&self, key: &str) -> Result<(&'t str, Span), FileError> {
        self.string(key)?.ok_or_else(|| self.missing(key))
    }

    pub(super) fn boolean(&self, key: &str) -> Result<bool, FileError> {
        let found = self.typed(key, "true or false", DeValue::as_bool)?;
        Ok(found.is_some_and(|(found, _)| found))
    }

    pub(super) fn integer(&self, key: &str) -> Result<Option<(i64, Span)>, FileError> {
        self.typed(key, "an integer", integer)
    }

    /// The value of a key as a list of strings; empty if the key is missing.
    pub(super) fn strings(&self, key: &str) -> Result<Vec<&'t str>, FileError> {
        let strings = self.typed(key, "a list of strings", |value| {
            let list = value.as_array()?.iter();
            list.map(|item| item.get_ref().as_str()).collect()
        })?;
        Ok(strings.map_or_else(Vec::new, |(strings, _)| strings))
    }

    /// The value of a key as a table.
    pub(super) fn table(&self, key: &str) -> Result<Option<Fields<'t>>, FileError> {
        let found = self.typed(key, "a table", DeValue::as_table)?;
        Ok(found.map(|(table, span)| self.inner(table, span, key)))
    }

    /// The value of a key as a list of tables.
    pub(super) fn tables(&self, key: &str) -> Result<Option<Vec<Fields<'t>>>, FileError> {
        let tables = self.typed(key, "a list of tables", |value| {
            let list = value.as_array()?.iter().enumerate();
            list.map(|(index, item)| {
                let place = format!("{key}, number {}", index + 1);
                let table = item.get_ref().as_table()?;
                Some(self.inner(table, item.span(), &place))
            })
            .collect()
        })?;
        Ok(tables.map(|(tables, _)| tables))
    }

    fn inner(&self, table: &'t DeTable<'t>, span: Span, place: &str) -> Fields<'t> {
        let place = match &*self.place {
            "" => place.to_owned(),
            outer => format!("{outer}, {place}"),
        };
        Fields {
            text: self.text,
            table,
            span,
            place,
        }
    }
}

/// The value as an integer of 64 bits.
pub(super) fn integer(value: &DeValue<'_>) -> Option<i64> {
    let integer = value.as_integer()?;
    i64::from_str_radix(integer.as_str(), integer.radix()).ok()
}

/// The most similar of the known names, if it is similar enough.
pub(super) fn alike<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    let scored = known
        .iter()
        .map(|candidate| (strsim::jaro_winkler(name, candidate), *candidate));
    let best = scored.max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    (best.0 >= ALIKE).then_some(best.1)
}
