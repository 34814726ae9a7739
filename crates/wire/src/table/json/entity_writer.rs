//! Writes entities: one alone, or page by page into one buffer.
//!
//! What is the same for every row of a page is made once, in [`EntityWriter::new`]; a row then is copies of prepared
//! pieces and of stored strings, and a few numbers. Nothing is allocated for a row.
//!
//! Member order, as recorded (cosmosdbpython--test_table_entity_test_query_entities_full_metadata): `odata.metadata` (of a single
//! entity), `odata.type`, `odata.id`, `odata.etag`, `odata.editLink`, PartitionKey, RowKey, Timestamp, then the custom
//! properties as they were given, each annotation before its property.
//!
//! | | full | minimal | none |
//! | --- | --- | --- | --- |
//! | `odata.metadata`, `odata.etag` | yes | yes | no |
//! | `odata.type`, `odata.id`, `odata.editLink`, `Timestamp@odata.type` | yes | no | no |
//! | type of a custom property that JSON does not show | yes | yes | no |

use super::double::push_double;
use super::entity_url::push_entity_path;
use super::text::{push_string, push_text};
use crate::table::MetadataLevel;
use crate::table::select::{Names, Select};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use partita_model::{Entity, Guid, PropertyRef, StoredError, ValueRef, is_plain};
use smallvec::SmallVec;

/// What the form of an answer depends on.
#[derive(Debug, Clone, Copy)]
pub struct EntityFormat<'a> {
    /// How much annotation it carries.
    pub level: MetadataLevel,
    /// The account's URL as the client addressed it, without slash at its end.
    pub base: &'a str,
    /// The account's name.
    pub account: &'a str,
    /// The table's name, in the case in which it was created.
    pub table: &'a str,
    /// The `$select` of the request, if it had one.
    pub select: Option<&'a Select>,
}

/// Writes entities of one table in one form.
#[derive(Debug)]
pub struct EntityWriter<'a> {
    level: MetadataLevel,
    table: &'a str,
    /// The names to show; `None` for all.
    names: Option<&'a Names>,
    /// `"odata.metadata":"` up to the table's name; empty without metadata.
    metadata: Vec<u8>,
    /// `&$select=…`, or empty.
    suffix: Vec<u8>,
    /// `"odata.type":"…","odata.id":"base/`, with full metadata.
    identity: Vec<u8>,
}

impl<'a> EntityWriter<'a> {
    /// Prepares what every row shares.
    #[must_use]
    pub fn new(format: &EntityFormat<'a>) -> Self {
        let EntityFormat {
            level,
            base,
            account,
            table,
            select,
        } = *format;
        let (mut metadata, mut suffix, mut identity) = (Vec::new(), Vec::new(), Vec::new());
        if level > MetadataLevel::None {
            metadata.extend_from_slice(b"\"odata.metadata\":\"");
            push_text(base, &mut metadata);
            metadata.extend_from_slice(b"/$metadata#");
            metadata.extend_from_slice(table.as_bytes());
            if let Some(select) = select {
                suffix.extend_from_slice(b"&$select=");
                suffix.extend_from_slice(select.suffix().as_bytes());
            }
        }
        if level == MetadataLevel::Full {
            identity.extend_from_slice(b"\"odata.type\":\"");
            identity.extend_from_slice(account.as_bytes());
            identity.push(b'.');
            identity.extend_from_slice(table.as_bytes());
            identity.extend_from_slice(b"\",\"odata.id\":\"");
            push_text(base, &mut identity);
            identity.push(b'/');
        }
        Self {
            level,
            table,
            names: select.and_then(Select::names),
            metadata,
            suffix,
            identity,
        }
    }

    /// Appends the beginning of a page.
    pub fn begin_page(&self, out: &mut Vec<u8>) {
        out.push(b'{');
        if !self.metadata.is_empty() {
            out.extend_from_slice(&self.metadata);
            out.extend_from_slice(&self.suffix);
            out.extend_from_slice(b"\",");
        }
        out.extend_from_slice(b"\"value\":[");
    }

    /// Appends one row of a page; every row but the first is set off by a comma.
    ///
    /// # Errors
    /// [`StoredError`] when the stored entity cannot be read; nothing is appended then.
    pub fn row(
        &self,
        first: bool,
        entity: &Entity<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), StoredError> {
        let before = out.len();
        out.extend_from_slice(if first { b"{" } else { b",{" });
        let written = self.members(entity, out);
        if written.is_err() {
            out.truncate(before);
        }
        written
    }

    /// Appends the end of a page.
    pub fn end_page(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"]}");
    }

    /// Appends an entity as an answer of its own.
    ///
    /// # Errors
    /// [`StoredError`] when the stored entity cannot be read; nothing is appended then.
    pub fn single(&self, entity: &Entity<'_>, out: &mut Vec<u8>) -> Result<(), StoredError> {
        let before = out.len();
        out.push(b'{');
        if !self.metadata.is_empty() {
            out.extend_from_slice(&self.metadata);
            out.extend_from_slice(b"/@Element");
            out.extend_from_slice(&self.suffix);
            out.extend_from_slice(b"\",");
        }
        let written = self.members(entity, out);
        if written.is_err() {
            out.truncate(before);
        }
        written
    }

    /// All members and the closing brace. Each member ends in a comma; the brace takes the place of the last one.
    fn members(&self, entity: &Entity<'_>, out: &mut Vec<u8>) -> Result<(), StoredError> {
        let Entity {
            partition_key,
            row_key,
            stored,
        } = entity;
        if self.level > MetadataLevel::None {
            self.push_annotations(entity, out);
        }
        let shown = |chosen: fn(&Names) -> bool| self.names.is_none_or(chosen);
        if shown(|names| names.partition_key) {
            out.extend_from_slice(b"\"PartitionKey\":");
            push_string(partition_key, is_plain(partition_key), out);
            out.push(b',');
        }
        if shown(|names| names.row_key) {
            out.extend_from_slice(b"\"RowKey\":");
            push_string(row_key, is_plain(row_key), out);
            out.push(b',');
        }
        if shown(|names| names.timestamp) {
            if self.level == MetadataLevel::Full {
                out.extend_from_slice(b"\"Timestamp@odata.type\":\"Edm.DateTime\",");
            }
            out.extend_from_slice(b"\"Timestamp\":\"");
            out.extend_from_slice(stored.timestamp().text().as_bytes());
            out.extend_from_slice(b"\",");
        }
        match self.names {
            None => {
                for property in stored.iter() {
                    push_property(&property?, self.level > MetadataLevel::None, out);
                }
            }
            Some(names) => self.push_selected(names, entity, out)?,
        }
        match out.last_mut() {
            Some(last) if *last == b',' => *last = b'}',
            _ => out.push(b'}'),
        }
        Ok(())
    }

    fn push_annotations(&self, entity: &Entity<'_>, out: &mut Vec<u8>) {
        let Entity {
            partition_key,
            row_key,
            stored,
        } = entity;
        let full = self.level == MetadataLevel::Full;
        if full {
            out.extend_from_slice(&self.identity);
            push_entity_path(self.table, partition_key, row_key, out);
            out.extend_from_slice(b"\",");
        }
        // Of an ETag only the outer quotes need an escape.
        out.extend_from_slice(b"\"odata.etag\":\"W/\\\"");
        out.extend_from_slice(stored.etag().text().opaque());
        out.extend_from_slice(b"\\\"\",");
        if full {
            out.extend_from_slice(b"\"odata.editLink\":\"");
            push_entity_path(self.table, partition_key, row_key, out);
            out.extend_from_slice(b"\",");
        }
    }

    /// The properties that were asked for, in the order of their names; one that the entity lacks is null.
    fn push_selected(
        &self,
        names: &Names,
        entity: &Entity<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), StoredError> {
        let mut places: SmallVec<[Option<PropertyRef<'_>>; 16]> =
            SmallVec::from_elem(None, names.custom.len());
        for property in entity.stored.iter() {
            let property = property?;
            let place = names.place(property.name).and_then(|at| places.get_mut(at));
            if let Some(place) = place {
                *place = Some(property);
            }
        }
        for (name, property) in names.custom.iter().zip(places) {
            if let Some(property) = property {
                push_property(&property, self.level > MetadataLevel::None, out);
            } else {
                push_string(name, is_plain(name), out);
                out.extend_from_slice(b":null,");
            }
        }
        Ok(())
    }
}

/// A property, with its annotation where it has one and `annotated` asks for it, and the comma behind it. Its name is an
/// identifier, in which JSON escapes nothing.
#[inline]
pub(super) fn push_property(property: &PropertyRef<'_>, annotated: bool, out: &mut Vec<u8>) {
    let PropertyRef { name, value, plain } = *property;
    if annotated {
        let annotation: &[u8] = match value {
            ValueRef::Int64(_) => b"@odata.type\":\"Edm.Int64\",",
            ValueRef::DateTime(_) => b"@odata.type\":\"Edm.DateTime\",",
            ValueRef::Guid(_) => b"@odata.type\":\"Edm.Guid\",",
            ValueRef::Binary(_) => b"@odata.type\":\"Edm.Binary\",",
            ValueRef::Double(value) if !value.is_finite() => b"@odata.type\":\"Edm.Double\",",
            _ => b"",
        };
        if !annotation.is_empty() {
            out.push(b'"');
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(annotation);
        }
    }
    out.push(b'"');
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
    match value {
        ValueRef::String(text) => push_string(text, plain, out),
        ValueRef::Boolean(true) => out.extend_from_slice(b"true"),
        ValueRef::Boolean(false) => out.extend_from_slice(b"false"),
        ValueRef::Int32(value) => {
            out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
        }
        ValueRef::Double(value) => push_double(value, out),
        ValueRef::Int64(value) => push_quoted(itoa::Buffer::new().format(value).as_bytes(), out),
        ValueRef::DateTime(value) => push_quoted(value.text().as_bytes(), out),
        ValueRef::Guid(Guid(bytes)) => push_quoted(Guid(bytes).text().as_bytes(), out),
        ValueRef::Binary(bytes) => push_base64(bytes, out),
    }
    out.push(b',');
}

fn push_quoted(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    out.extend_from_slice(text);
    out.push(b'"');
}

fn push_base64(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    let start = out.len();
    out.resize(start + bytes.len().div_ceil(3) * 4, 0);
    if let Some(room) = out.get_mut(start..) {
        let written = STANDARD
            .encode_slice(bytes, room)
            .expect("the room was counted");
        out.truncate(start + written);
    }
    out.push(b'"');
}
