//! Reads an entity from the body of an insert, update or merge.
//!
//! The first pass collects the members as slices of the body, because an annotation may stand before or after its
//! property. The second pass converts them and writes their stored form. The reader builds no tree, and copies a string
//! without escapes once.
//!
//! Rules:
//! - `odata.*`, annotations other than `@odata.type`, and `Timestamp` are ignored;
//! - members with the value null are ignored, with or without annotation;
//! - the keys are not checked; the operation checks them. Updates and merges skip them without decoding;
//! - [`MEMBERS_MAX`] limits the members, the scanner limits the nesting, and the size of the body limits everything
//!   else.

use super::limit::code_of_limit;
use super::typed_value::{Scratch, unreadable};
use crate::json::{Scanner, Token};
use crate::{ErrorCode, Failure};
use partita_model::{EdmType, EntityDraft, LimitError, Properties, PropertiesBuilder};
use smallvec::SmallVec;
use std::borrow::Cow;

/// The maximum number of members of a body, including annotations and nulls: four times the number of properties that
/// an entity can have.
pub const MEMBERS_MAX: usize = 4 * 255;

const TYPE_SUFFIX: &str = "@odata.type";

/// A property whose value has not been converted yet.
#[derive(Debug)]
pub(super) struct Member<'a> {
    pub(super) name: Cow<'a, str>,
    pub(super) value: Token<'a>,
    pub(super) edm: Option<EdmType>,
}

/// A property's name and its annotated type, if the annotation did not follow the property: not assigned yet.
type Pending<'a> = (Cow<'a, str>, EdmType);

/// The members of a body. Up to 16 are kept on the stack; most entities have fewer.
#[derive(Debug, Default)]
pub(super) struct Members<'a> {
    pub(super) found: SmallVec<[Member<'a>; 16]>,
    pending: SmallVec<[Pending<'a>; 4]>,
    /// Whether to skip PartitionKey and RowKey, with their annotations.
    skips_keys: bool,
    /// `Timestamp` and `odata.etag`, which only readers of answers use.
    pub(super) timestamp: Option<Token<'a>>,
    pub(super) etag: Option<Token<'a>>,
}

/// Reads an entity to insert (service documents "Inserting and updating entities", "Payload format for Table service
/// operations").
///
/// # Errors
/// 400 InvalidInput for a body that is not a JSON object, and for a value that does not fit its type; OutOfRangeInput
/// for dates before 1601; DuplicatePropertiesSpecified, PropertyNameInvalid, PropertyNameTooLong, PropertyValueTooLarge
/// and TooManyProperties.
pub fn read_entity(body: &[u8]) -> Result<EntityDraft, Failure> {
    read_body(body, false)
}

/// Reads the properties of an update or merge, whose keys are in the URL. PartitionKey and RowKey in the body are ignored,
/// whatever they hold, and so are their types (azure-sdk-for-python, test_encoder test_encoder_update_entity_*: keys with other
/// types, and keys that differ from the URL's, are answered with 204).
///
/// # Errors
/// Those of [`read_entity`].
pub fn read_properties(body: &[u8]) -> Result<Properties, Failure> {
    read_body(body, true).map(|draft| draft.properties)
}

fn read_body(body: &[u8], skips_keys: bool) -> Result<EntityDraft, Failure> {
    let mut scanner = Scanner::new(body).ok_or_else(unreadable)?;
    let mut members = Members {
        skips_keys,
        ..Members::default()
    };
    members.read(&mut scanner)?;
    if !scanner.is_done() {
        return Err(unreadable());
    }
    members.into_draft(body.len())
}

/// Whether a property is one of the two keys.
pub(super) fn is_key(name: &str) -> bool {
    matches!(name, "PartitionKey" | "RowKey")
}

impl<'a> Members<'a> {
    /// Replaces the members with those of the next object.
    pub(super) fn read(&mut self, scanner: &mut Scanner<'a>) -> Result<(), Failure> {
        self.found.clear();
        self.pending.clear();
        (self.timestamp, self.etag) = (None, None);
        let mut count = 0;
        scanner.object(unreadable, |name, value| {
            count += 1;
            if count > MEMBERS_MAX {
                return Err(ErrorCode::TooManyProperties.into());
            }
            self.add(text_of(name)?, value)
        })?;
        self.settle();
        Ok(())
    }

    #[inline]
    fn add(&mut self, name: Cow<'a, str>, value: Token<'a>) -> Result<(), Failure> {
        if let Some(property) = name.strip_suffix(TYPE_SUFFIX) {
            if property == "Timestamp" || property.is_empty() || self.skips(property) {
                return Ok(());
            }
            let edm = edm_of(value).ok_or_else(unreadable)?;
            match self.found.last_mut() {
                Some(last) if last.name == property => last.edm = Some(edm),
                _ => self.pending.push((shortened(name, TYPE_SUFFIX.len()), edm)),
            }
            return Ok(());
        }
        if name == "Timestamp" {
            self.timestamp = Some(value);
            return Ok(());
        }
        if name.starts_with("odata.") {
            if name == "odata.etag" {
                self.etag = Some(value);
            }
            return Ok(());
        }
        if self.skips(&name) {
            return Ok(());
        }
        let edm = match self.pending.last() {
            Some((pending, edm)) if *pending == name => Some(*edm),
            _ => None,
        };
        if edm.is_some() {
            self.pending.pop();
        }
        self.found.push(Member { name, value, edm });
        Ok(())
    }

    #[inline]
    fn skips(&self, name: &str) -> bool {
        self.skips_keys && is_key(name)
    }

    /// Assigns the types whose annotations were not next to their properties. Types without a property are ignored.
    fn settle(&mut self) {
        for (name, edm) in self.pending.drain(..) {
            for member in &mut self.found {
                if member.name == name {
                    member.edm = Some(edm);
                }
            }
        }
    }

    fn into_draft(self, capacity: usize) -> Result<EntityDraft, Failure> {
        let mut builder = PropertiesBuilder::new(capacity);
        let (mut partition_key, mut row_key) = (None, None);
        let mut scratch = Scratch::default();
        for member in self.found {
            let slot = match &*member.name {
                "PartitionKey" => &mut partition_key,
                "RowKey" => &mut row_key,
                name => {
                    if let Some(value) = scratch.value(name, member.value, member.edm)? {
                        match builder.push(name, value) {
                            // Other annotations are not properties of the entity.
                            Err(LimitError::PropertyNameInvalid) if is_annotation(name) => {}
                            pushed => pushed.map_err(code_of_limit)?,
                        }
                    }
                    continue;
                }
            };
            if !matches!(member.edm, None | Some(EdmType::String)) {
                return Err(unreadable());
            }
            let key = match member.value {
                Token::Null => continue,
                string => text_of(string)?.into_owned(),
            };
            if slot.replace(key).is_some() {
                return Err(ErrorCode::DuplicatePropertiesSpecified.into());
            }
        }
        Ok(EntityDraft {
            partition_key,
            row_key,
            properties: builder.finish(),
        })
    }
}

/// Whether the text is the name of an annotation, `[property]@namespace.term` (document "OData JSON Format",
/// Annotations). Any other name with an `@` is an invalid property name and is refused; if it were ignored, the client
/// would not notice that the property was not stored.
fn is_annotation(name: &str) -> bool {
    let term = name.split_once('@').map(|(_, term)| term);
    term.and_then(|term| term.rsplit_once('.'))
        .is_some_and(|(namespace, term)| !namespace.is_empty() && !term.is_empty())
}

/// The text of a string value.
#[inline]
pub(super) fn text_of(token: Token<'_>) -> Result<Cow<'_, str>, Failure> {
    token.text().ok_or_else(unreadable)
}

/// The type that an annotation names; `None` if it is unknown.
#[inline]
fn edm_of(value: Token<'_>) -> Option<EdmType> {
    // Length and one byte select the only possible type, so one comparison is enough.
    let Token::Plain(name) = value else {
        return EdmType::from_name(&text_of(value).ok()?);
    };
    let guess = match (name.len(), name.as_bytes().get(4)?) {
        (10, b'S') => EdmType::String,
        (9, _) => match name.as_bytes().get(7)? {
            b'6' => EdmType::Int64,
            _ => EdmType::Int32,
        },
        (10, b'D') => EdmType::Double,
        (12, _) => EdmType::DateTime,
        (8, _) => EdmType::Guid,
        (10, _) => EdmType::Binary,
        (11, _) => EdmType::Boolean,
        _ => return None,
    };
    (guess.name() == name).then_some(guess)
}

/// The name without its last `bytes` bytes, which are ASCII.
fn shortened(name: Cow<'_, str>, bytes: usize) -> Cow<'_, str> {
    match name {
        Cow::Borrowed(text) => Cow::Borrowed(text.get(..text.len() - bytes).unwrap_or_default()),
        Cow::Owned(mut text) => {
            text.truncate(text.len() - bytes);
            Cow::Owned(text)
        }
    }
}
