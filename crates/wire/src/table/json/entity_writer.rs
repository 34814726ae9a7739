//! Writes entities into a buffer: a single entity, or the entities of a page.
//!
//! [`EntityWriter::new`] prepares the parts that all rows of a page share. A row is copied from these parts and from
//! stored strings, with a few formatted numbers; writing a row does not allocate memory.
//!
//! Order of members, as recorded (cosmosdbpython--test_table_entity_test_query_entities_full_metadata):
//! `odata.metadata` (of a single entity), `odata.type`, `odata.id`, `odata.etag`, `odata.editLink`, PartitionKey,
//! RowKey, Timestamp, then the custom properties in their stored order, each annotation before its property.
//!
//! | | full | minimal | none |
//! | --- | --- | --- | --- |
//! | `odata.metadata`, `odata.etag` | yes | yes | no |
//! | `odata.type`, `odata.id`, `odata.editLink`, `Timestamp@odata.type` | yes | no | no |
//! | type of a custom property, unless JSON implies it | yes | yes | no |

use super::double::push_double;
use super::entity_url::push_entity_path;
use crate::json::{push_string, push_text};
use crate::table::MetadataLevel;
use crate::table::select::{Names, Select};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use partita_model::{Entity, Guid, PropertyRef, StoredError, ValueRef, is_plain};
use smallvec::SmallVec;

/// The form of an answer.
#[derive(Debug, Clone, Copy)]
pub struct EntityFormat<'a> {
    /// The metadata level.
    pub level: MetadataLevel,
    /// The account's URL in the client's form, without a trailing slash.
    pub base: &'a str,
    /// The account's name.
    pub account: &'a str,
    /// The table's name in its original case.
    pub table: &'a str,
    /// The `$select` of the request, if it had one.
    pub select: Option<&'a Select>,
}

/// Writes entities of one table in the same form.
#[derive(Debug)]
pub struct EntityWriter<'a> {
    level: MetadataLevel,
    table: &'a str,
    /// The properties to show; `None` for all.
    names: Option<&'a Names>,
    /// `"odata.metadata":"` up to the table's name; empty without metadata.
    metadata: Vec<u8>,
    /// `&$select=…`, which ends `odata.metadata`; empty without `$select`.
    suffix: Vec<u8>,
    /// `"odata.type":"…","odata.id":"base/`, with full metadata.
    identity: Vec<u8>,
}

impl<'a> EntityWriter<'a> {
    /// Prepares the parts that all rows share.
    pub fn new(format: &EntityFormat<'a>) -> Self {
        let (level, table) = (format.level, format.table);
        let (mut metadata, mut suffix, mut identity) = (Vec::new(), Vec::new(), Vec::new());
        if level > MetadataLevel::None {
            metadata.extend_from_slice(b"\"odata.metadata\":\"");
            push_text(format.base, &mut metadata);
            metadata.extend_from_slice(b"/$metadata#");
            metadata.extend_from_slice(table.as_bytes());
            if let Some(select) = format.select {
                suffix.extend_from_slice(b"&$select=");
                suffix.extend_from_slice(select.suffix().as_bytes());
            }
        }
        if level == MetadataLevel::Full {
            identity.extend_from_slice(b"\"odata.type\":\"");
            identity.extend_from_slice(format.account.as_bytes());
            identity.push(b'.');
            identity.extend_from_slice(table.as_bytes());
            identity.extend_from_slice(b"\",\"odata.id\":\"");
            push_text(format.base, &mut identity);
            identity.push(b'/');
        }
        Self {
            level,
            table,
            names: format.select.and_then(Select::names),
            metadata,
            suffix,
            identity,
        }
    }

    /// Appends the beginning of a page.
    pub fn begin_page(&self, out: &mut Vec<u8>) {
        out.push(b'{');
        self.push_metadata(b"", out);
        out.extend_from_slice(b"\"value\":[");
    }

    /// Appends one row of a page, after a comma unless it is the `first`.
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

    /// Appends an entity as a complete answer.
    ///
    /// # Errors
    /// [`StoredError`] when the stored entity cannot be read; nothing is appended then.
    pub fn single(&self, entity: &Entity<'_>, out: &mut Vec<u8>) -> Result<(), StoredError> {
        let before = out.len();
        out.push(b'{');
        self.push_metadata(b"/@Element", out);
        let written = self.members(entity, out);
        if written.is_err() {
            out.truncate(before);
        }
        written
    }

    fn push_metadata(&self, kind: &[u8], out: &mut Vec<u8>) {
        if !self.metadata.is_empty() {
            out.extend_from_slice(&self.metadata);
            out.extend_from_slice(kind);
            out.extend_from_slice(&self.suffix);
            out.extend_from_slice(b"\",");
        }
    }

    /// Appends all members and the closing brace. Each member ends with a comma; the brace replaces the last comma.
    fn members(&self, entity: &Entity<'_>, out: &mut Vec<u8>) -> Result<(), StoredError> {
        let (partition_key, row_key) = (&entity.partition_key, &entity.row_key);
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
            out.extend_from_slice(entity.stored.timestamp().text().as_bytes());
            out.extend_from_slice(b"\",");
        }
        match self.names {
            None => {
                for property in entity.stored.iter() {
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
        let (partition_key, row_key) = (&entity.partition_key, &entity.row_key);
        let full = self.level == MetadataLevel::Full;
        if full {
            out.extend_from_slice(&self.identity);
            push_entity_path(self.table, partition_key, row_key, out);
            out.extend_from_slice(b"\",");
        }
        // Only the outer quotes of an ETag need escapes.
        out.extend_from_slice(b"\"odata.etag\":\"W/\\\"");
        out.extend_from_slice(entity.stored.etag().text().opaque());
        out.extend_from_slice(b"\\\"\",");
        if full {
            out.extend_from_slice(b"\"odata.editLink\":\"");
            push_entity_path(self.table, partition_key, row_key, out);
            out.extend_from_slice(b"\",");
        }
    }

    /// Appends the selected properties in the order of their names. A property that the entity does not have is null.
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

/// Appends a property and a comma. With `annotated`, the annotation of its type comes first, unless JSON implies the
/// type. The name is an identifier and needs no escapes.
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
            .expect("the buffer has the size of the encoding");
        out.truncate(start + written);
    }
    out.push(b'"');
}
