//! Resources: the service, a table, an entity. Parses the part of a path after the account.

use crate::uri::decode_path;
use crate::{ErrorCode, Failure, invalid_name, split};
use partita_model::TableName;
use std::borrow::Cow;

/// The prefix of the names of the tables in which the service keeps its own metrics.
const SYSTEM_TABLES: &str = "$Metrics";

/// A resource of the Table service. Table names are unchecked until [`Resource::check_table`]. Keys are decoded and contain
/// only valid characters, but may be longer than any stored key; such long keys are not found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resource<'a> {
    /// `/`: the service itself.
    Service,
    /// `/Tables`, `/Tables()`
    Tables,
    /// `/Tables('name')`
    Table(Cow<'a, str>),
    /// `/name`, `/name()`
    Entities(Cow<'a, str>),
    /// `/name(PartitionKey='…',RowKey='…')`
    Entity {
        /// The table.
        table: Cow<'a, str>,
        /// The PartitionKey, which may be empty.
        partition_key: Cow<'a, str>,
        /// The RowKey, which may be empty.
        row_key: Cow<'a, str>,
    },
    /// `/$batch`
    Batch,
    /// `/name/segment`: what clients request if their endpoint contains a table's name. It is not a resource, but the service
    /// looks for the table first.
    BelowTable {
        /// The table.
        table: Cow<'a, str>,
        /// Whether the segment is `Tables('other')`, with one key where an entity needs two.
        has_one_key: bool,
    },
}

impl<'a> Resource<'a> {
    /// Parses the raw path after the account. Empty segments (doubled or trailing slashes) are ignored.
    ///
    /// # Errors
    /// 400 InvalidInput "Bad Request - Error in query syntax." for bad syntax and for keys with `/` or `\`;
    /// OutOfRangeInput for keys with other invalid characters; InvalidUri for invalid escapes and control characters.
    pub fn parse(path: &'a str) -> Result<Self, Failure> {
        let mut segments = split::all(path, b'/').filter(|segment| !segment.is_empty());
        let Some(segment) = segments.next() else {
            return Ok(Self::Service);
        };
        let first = Self::parse_segment(segment)?;
        let Some(second) = segments.next() else {
            return Ok(first);
        };
        match first {
            Self::Entities(table) if segments.next().is_none() => Ok(Self::BelowTable {
                table,
                has_one_key: matches!(Self::parse_segment(second), Ok(Self::Table(_))),
            }),
            _ => Err(invalid_path()),
        }
    }

    fn parse_segment(segment: &'a str) -> Result<Self, Failure> {
        match decode_path(segment) {
            Some(Cow::Borrowed(text)) => Resource::parse_decoded(text),
            Some(Cow::Owned(text)) => Resource::parse_decoded(&text).map(Resource::into_owned),
            None => Err(ErrorCode::InvalidUri.into()),
        }
    }

    /// Checks the name of the table whose rows, policies or settings a request addresses. The name in `Tables('name')`
    /// is not checked: such a table is absent.
    ///
    /// # Errors
    /// 400 InvalidResourceName, or OutOfRangeInput for the length, with the service's texts (azure-sdk-for-python, `_error.py`:
    /// "for any table/entity operations"; test_table_client test_table_name_errors).
    pub fn check_table(&self) -> Result<(), Failure> {
        let (Self::Entities(name)
        | Self::Entity { table: name, .. }
        | Self::BelowTable { table: name, .. }) = self
        else {
            return Ok(());
        };
        match TableName::check(name) {
            Err(_) if is_system_table(name) => Ok(()),
            checked => checked.map_err(invalid_name),
        }
    }

    fn parse_decoded(text: &'a str) -> Result<Self, Failure> {
        let Some((name, rest)) = split::once(text, b'(') else {
            return Ok(Self::set(text));
        };
        let Some(arguments) = rest.trim_end().strip_suffix(')').map(str::trim) else {
            return Err(invalid_path());
        };
        if name.is_empty() {
            return Err(invalid_path());
        }
        if arguments.is_empty() {
            return Ok(Self::set(name));
        }
        let mut arguments = Arguments { rest: arguments };
        if name.eq_ignore_ascii_case("Tables") {
            let table = arguments.one().ok_or_else(invalid_path)?;
            return Ok(Self::Table(table));
        }
        let (partition_key, row_key) = arguments.keys().ok_or_else(invalid_path)?;
        check_key(&partition_key)?;
        check_key(&row_key)?;
        Ok(Self::Entity {
            table: Cow::Borrowed(name),
            partition_key,
            row_key,
        })
    }

    fn set(name: &'a str) -> Self {
        if name.eq_ignore_ascii_case("Tables") {
            Self::Tables
        } else if name.eq_ignore_ascii_case("$batch") {
            Self::Batch
        } else {
            Self::Entities(Cow::Borrowed(name))
        }
    }

    /// The name of the table, or of the entity's table.
    pub fn table(&self) -> Option<&str> {
        match self {
            Self::Table(table)
            | Self::Entities(table)
            | Self::Entity { table, .. }
            | Self::BelowTable { table, .. } => Some(table),
            Self::Service | Self::Tables | Self::Batch => None,
        }
    }

    /// PartitionKey and RowKey of an entity.
    pub fn keys(&self) -> Option<(&str, &str)> {
        match self {
            Self::Entity {
                partition_key,
                row_key,
                ..
            } => Some((partition_key, row_key)),
            _ => None,
        }
    }

    /// The methods that the resource supports, for the header `Allow` of a 405.
    pub const fn allow(&self) -> &'static str {
        match self {
            Self::Service => "GET, PUT",
            Self::Tables | Self::Entities(_) => "GET, POST",
            Self::Table(_) => "GET, DELETE",
            Self::Entity { .. } => "GET, PUT, MERGE, PATCH, DELETE",
            Self::Batch => "POST",
            Self::BelowTable { .. } => "GET, POST, PUT, MERGE, PATCH, DELETE",
        }
    }

    /// The same resource with owned texts.
    pub fn into_owned(self) -> Resource<'static> {
        let own = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        match self {
            Self::Service => Resource::Service,
            Self::Tables => Resource::Tables,
            Self::Table(table) => Resource::Table(own(table)),
            Self::Entities(table) => Resource::Entities(own(table)),
            Self::Entity {
                table,
                partition_key,
                row_key,
            } => Resource::Entity {
                table: own(table),
                partition_key: own(partition_key),
                row_key: own(row_key),
            },
            Self::Batch => Resource::Batch,
            Self::BelowTable { table, has_one_key } => Resource::BelowTable {
                table: own(table),
                has_one_key,
            },
        }
    }
}

/// 400 InvalidInput: the path does not name a resource.
pub fn invalid_path() -> Failure {
    Failure::with_message(
        ErrorCode::InvalidInput,
        "Bad Request - Error in query syntax.",
    )
}

/// Whether the table is one of the service itself. None of them exists here.
fn is_system_table(name: &str) -> bool {
    name.get(..SYSTEM_TABLES.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(SYSTEM_TABLES))
}

/// Refuses keys with invalid characters, with the codes that the service answers to point operations (a test
/// suite of another project asserts them against the live service).
fn check_key(key: &str) -> Result<(), Failure> {
    let plain =
        |byte: u8| matches!(byte, b' '..=b'~' if !matches!(byte, b'/' | b'\\' | b'#' | b'?'));
    if key.bytes().all(plain) {
        return Ok(());
    }
    for c in key.chars() {
        match c {
            '/' | '\\' => return Err(invalid_path()),
            '\0'..='\u{1F}' => return Err(ErrorCode::InvalidUri.into()),
            '#' | '?' | '\u{7F}'..='\u{9F}' => return Err(ErrorCode::OutOfRangeInput.into()),
            _ => {}
        }
    }
    Ok(())
}

/// The unread text between the parentheses: `'name'`, or `PartitionKey='…', RowKey='…'` in either order.
struct Arguments<'a> {
    rest: &'a str,
}

impl<'a> Arguments<'a> {
    /// Reads the whole text as the name of a table: `'name'` or `TableName='name'`.
    fn one(&mut self) -> Option<Cow<'a, str>> {
        if !self.rest.starts_with('\'') && self.name()? != "TableName" {
            return None;
        }
        let literal = self.literal()?;
        self.rest.is_empty().then_some(literal)
    }

    /// Reads the whole text as PartitionKey and RowKey, each once.
    fn keys(&mut self) -> Option<(Cow<'a, str>, Cow<'a, str>)> {
        let (first_name, first) = (self.name()?, self.literal()?);
        self.rest = self.rest.strip_prefix(',')?.trim_start();
        let (second_name, second) = (self.name()?, self.literal()?);
        match (first_name, second_name) {
            _ if !self.rest.is_empty() => None,
            ("PartitionKey", "RowKey") => Some((first, second)),
            ("RowKey", "PartitionKey") => Some((second, first)),
            _ => None,
        }
    }

    fn name(&mut self) -> Option<&'a str> {
        let (name, rest) = self.rest.split_once('=')?;
        self.rest = rest.trim_start();
        Some(name.trim())
    }

    /// A quoted literal, in which two quotes mean one quote.
    fn literal(&mut self) -> Option<Cow<'a, str>> {
        let text = self.rest.strip_prefix('\'')?;
        let mut from = 0;
        loop {
            let end = from + text.get(from..)?.find('\'')?;
            let after = text.get(end + 1..)?;
            if after.starts_with('\'') {
                from = end + 2;
                continue;
            }
            let literal = text.get(..end)?;
            self.rest = after.trim_start();
            return Some(match from {
                0 => Cow::Borrowed(literal),
                _ => Cow::Owned(literal.replace("''", "'")),
            });
        }
    }
}
