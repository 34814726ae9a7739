//! `$select`: the properties that an answer shows.
//!
//! Rules (service document "Querying tables and entities"; recordings
//! cosmosdbpython--test_table_entity_test_get_entity_with_select,
//! cosmosdbpython--test_table_batch_test_batch_all_operations_together, gostorage--StorageEntitySuite_TestGet):
//! - names are case-sensitive and separated by commas; blanks around them are ignored;
//! - a blank text and `*` select everything;
//! - the answer's `odata.metadata` ends in `&$select=` and the text of the request, with blanks as `%20`;
//! - custom properties are in the order of their names, regardless of the order in the request.

use crate::{ErrorCode, Failure};
use partita_model::is_plain;
use partita_model::limits::PROPERTY_NAME_UNITS_MAX;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// The maximum number of names in a `$select`: 252 properties and the three of the service. Each name adds a `null` to
/// every row without that property.
pub const SELECT_NAMES_MAX: usize = 255;

/// The maximum length of a `$select`, in bytes: the same as of a `$filter` and of the head of a request. A limit is
/// needed, because every row of a page repeats the names of its missing properties.
pub const SELECT_BYTES_MAX: usize = 64 * 1024;

/// The bytes of a missing property in JSON, without the name: `"":null,`.
const NULL_BYTES: usize = 8;

/// The maximum number of bytes that one byte of a name takes in JSON: `\u0001`.
const ESCAPE_BYTES_MAX: usize = 6;

/// The characters that the suffix of `odata.metadata` encodes.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~')
    .remove(b',')
    .remove(b'*');

/// A parsed `$select`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Select {
    /// The text in `odata.metadata` after `&$select=`.
    suffix: String,
    /// `None` selects everything.
    names: Option<Names>,
}

/// The names of a selection of some properties.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Names {
    pub(crate) partition_key: bool,
    pub(crate) row_key: bool,
    pub(crate) timestamp: bool,
    /// Custom properties, sorted and without duplicates.
    pub(crate) custom: Vec<String>,
}

impl Select {
    /// Reads the decoded value of `$select`.
    ///
    /// # Errors
    /// 400 InvalidInput for more than [`SELECT_NAMES_MAX`] names, more than [`SELECT_BYTES_MAX`] bytes, or an empty
    /// name between others; PropertyNameTooLong for a name that no property can have.
    pub fn parse(text: &str) -> Result<Self, Failure> {
        if text.len() > SELECT_BYTES_MAX {
            return Err(ErrorCode::InvalidInput.into());
        }
        let text = text.trim();
        let suffix = utf8_percent_encode(text, RESERVED).to_string();
        if text.is_empty() {
            return Ok(Self {
                suffix,
                names: None,
            });
        }
        let mut names = Names::default();
        let (mut count, mut everything) = (0, false);
        for name in text.split(',').map(str::trim) {
            count += 1;
            match name {
                "" => return Err(ErrorCode::InvalidInput.into()),
                "*" => everything = true,
                "PartitionKey" => names.partition_key = true,
                "RowKey" => names.row_key = true,
                "Timestamp" => names.timestamp = true,
                custom if custom.encode_utf16().count() > PROPERTY_NAME_UNITS_MAX => {
                    return Err(ErrorCode::PropertyNameTooLong.into());
                }
                custom => names.custom.push(custom.to_owned()),
            }
            if count > SELECT_NAMES_MAX {
                return Err(ErrorCode::InvalidInput.into());
            }
        }
        names.custom.sort_unstable();
        names.custom.dedup();
        let names = (!everything).then_some(names);
        Ok(Self { suffix, names })
    }

    /// Whether every property is shown.
    pub const fn is_everything(&self) -> bool {
        self.names.is_none()
    }

    /// The maximum number of bytes that missing properties add to a row: each appears with its name and `null`.
    pub fn null_bytes(&self) -> usize {
        let Some(names) = &self.names else { return 0 };
        let bytes = |name: &String| {
            let escaped = if is_plain(name) { 1 } else { ESCAPE_BYTES_MAX };
            name.len() * escaped + NULL_BYTES
        };
        names.custom.iter().map(bytes).sum()
    }

    /// The text after `&$select=` in `odata.metadata`: ASCII, without quotes.
    pub(crate) fn suffix(&self) -> &str {
        &self.suffix
    }

    /// The names; `None` for everything.
    pub(crate) const fn names(&self) -> Option<&Names> {
        self.names.as_ref()
    }
}

impl Names {
    /// The index of a custom property in [`Self::custom`]; `None` if it is not selected.
    pub(crate) fn place(&self, name: &str) -> Option<usize> {
        self.custom
            .binary_search_by(|other| other.as_str().cmp(name))
            .ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_are_trimmed_sorted_and_unique() {
        let select = Select::parse(" age, PartitionKey ,sex,age").unwrap();
        assert_eq!(select.suffix(), "age,%20PartitionKey%20,sex,age");
        let names = select.names().unwrap();
        assert_eq!(names.custom, ["age", "sex"]);
        assert!(names.partition_key && !names.row_key && !names.timestamp);
        assert_eq!(names.place("sex"), Some(1));
        assert_eq!(names.place("Sex"), None);
    }

    #[test]
    fn blank_and_star_are_everything() {
        for (text, suffix) in [("", ""), (" ", ""), ("*", "*"), ("a,*", "a,*")] {
            let select = Select::parse(text).unwrap();
            assert!(select.is_everything(), "{text}");
            assert_eq!(select.suffix(), suffix);
        }
    }

    #[test]
    fn names_and_bytes_are_limited() {
        assert!(Select::parse(&vec!["a"; SELECT_NAMES_MAX].join(",")).is_ok());
        assert!(Select::parse(&vec!["a"; SELECT_NAMES_MAX + 1].join(",")).is_err());
        assert!(Select::parse("a,,b").is_err());
        let of_units = |units: usize| Select::parse(&"\u{1F600}".repeat(units / 2));
        assert!(of_units(PROPERTY_NAME_UNITS_MAX - 1).is_ok());
        let refused = of_units(PROPERTY_NAME_UNITS_MAX + 1).unwrap_err();
        assert_eq!(refused.code, ErrorCode::PropertyNameTooLong);
        assert!(Select::parse(&format!("a{}", " ".repeat(SELECT_BYTES_MAX - 1))).is_ok());
        assert!(Select::parse(&format!("a{}", " ".repeat(SELECT_BYTES_MAX))).is_err());
    }

    #[test]
    fn null_bytes_is_an_upper_bound_for_a_row_of_nulls() {
        let bytes = |text| Select::parse(text).unwrap().null_bytes();
        assert_eq!(
            bytes("age,PartitionKey,é"),
            "\"age\":null,\"é\":null,".len()
        );
        assert_eq!(bytes("\u{1}"), "\"\\u0001\":null,".len());
        assert_eq!((bytes(""), bytes("*"), bytes("age,*")), (0, 0, 0));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text: String) {
            if let Ok(select) = Select::parse(&text) {
                prop_assert!(select.suffix().is_ascii() && !select.suffix().contains('"'));
            }
        }
    }
}
