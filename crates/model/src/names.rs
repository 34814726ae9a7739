//! Names of accounts, tables, queues and properties, and the rules for key values.

use crate::limits::{KEY_UNITS_MAX, LimitError, PROPERTY_NAME_UNITS_MAX};
use std::fmt;
use thiserror::Error;

/// Why a name is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum InvalidName {
    /// Too short or too long.
    #[error("the name is too short or too long")]
    Length,
    /// A character that is not allowed, or not allowed at its position.
    #[error("the name has a character that is not allowed")]
    Characters,
    /// A name that the service reserves.
    #[error("the name is reserved")]
    Reserved,
}

/// The name of a storage account: 3 to 24 lower-case letters and digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AccountName(String);

impl AccountName {
    /// Checks a name.
    ///
    /// # Errors
    /// [`InvalidName::Length`] or [`InvalidName::Characters`].
    pub fn new(name: &str) -> Result<Self, InvalidName> {
        if !(3..=24).contains(&name.len()) {
            return Err(InvalidName::Length);
        }
        let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        if !name.bytes().all(allowed) {
            return Err(InvalidName::Characters);
        }
        Ok(Self(name.to_owned()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AccountName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The name of a table: a letter, then 2 to 62 letters and digits. Names that differ only in case name the same table;
/// the case is kept.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TableName(String);

impl TableName {
    /// A valid name.
    ///
    /// # Errors
    /// The errors of [`Self::check`].
    pub fn new(name: &str) -> Result<Self, InvalidName> {
        Self::check(name).map(|()| Self(name.to_owned()))
    }

    /// Checks a name (service document "Understanding the Table service data model", Table Names).
    ///
    /// # Errors
    /// [`InvalidName`]; the name `tables` is [`InvalidName::Reserved`].
    pub fn check(name: &str) -> Result<(), InvalidName> {
        if !name.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return Err(InvalidName::Characters);
        }
        if name.starts_with(|first: char| first.is_ascii_digit()) {
            return Err(InvalidName::Characters);
        }
        if !(3..=63).contains(&name.len()) {
            return Err(InvalidName::Length);
        }
        if name.eq_ignore_ascii_case("tables") {
            return Err(InvalidName::Reserved);
        }
        Ok(())
    }

    /// The name in its original case.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name in lower case: this form identifies the table, orders tables, and is signed in a SAS.
    pub fn folded(&self) -> String {
        self.0.to_ascii_lowercase()
    }
}

impl fmt::Display for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The name of a queue: 3 to 63 lower-case letters, digits and single hyphens; the first and the last character are
/// letters or digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QueueName(String);

impl QueueName {
    /// Checks a name (service document "Naming Queues and Metadata").
    ///
    /// # Errors
    /// [`InvalidName::Characters`], also for a hyphen at a wrong position, or [`InvalidName::Length`].
    pub fn new(name: &str) -> Result<Self, InvalidName> {
        let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if !name.bytes().all(allowed) {
            return Err(InvalidName::Characters);
        }
        if !(3..=63).contains(&name.len()) {
            return Err(InvalidName::Length);
        }
        if name.starts_with('-') || name.ends_with('-') || name.contains("--") {
            return Err(InvalidName::Characters);
        }
        Ok(Self(name.to_owned()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for QueueName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Checks the name of a custom property: an identifier of at most 255 UTF-16 code units.
///
/// # Errors
/// [`LimitError::PropertyNameTooLong`], [`LimitError::PropertyNameInvalid`].
pub fn check_property_name(name: &str) -> Result<(), LimitError> {
    if name.len() > PROPERTY_NAME_UNITS_MAX && crate::utf16_len(name) > PROPERTY_NAME_UNITS_MAX {
        return Err(LimitError::PropertyNameTooLong);
    }
    let mut chars = name.chars();
    let first_fits = |first: char| first == '_' || unicode_ident::is_xid_start(first);
    if !chars.next().is_some_and(first_fits) || !chars.all(unicode_ident::is_xid_continue) {
        return Err(LimitError::PropertyNameInvalid);
    }
    Ok(())
}

/// Why a text cannot be a PartitionKey or RowKey.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum InvalidKey {
    /// `/`, `\`, `#`, `?`, U+0000 to U+001F or U+007F to U+009F.
    #[error("the key has a character that is not allowed")]
    Characters,
    /// More than 512 UTF-16 code units.
    #[error("the key is longer than {KEY_UNITS_MAX} UTF-16 code units")]
    TooLong,
}

/// Checks a PartitionKey or RowKey before it is stored. The empty key is valid.
///
/// # Errors
/// [`InvalidKey`].
pub fn check_key(key: &str) -> Result<(), InvalidKey> {
    let forbidden =
        |c: char| matches!(c, '/' | '\\' | '#' | '?' | '\u{0}'..='\u{1F}' | '\u{7F}'..='\u{9F}');
    if key.contains(forbidden) {
        return Err(InvalidKey::Characters);
    }
    if key.len() > KEY_UNITS_MAX && crate::utf16_len(key) > KEY_UNITS_MAX {
        return Err(InvalidKey::TooLong);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables() {
        for good in ["abc", "A12", "Tables1", &"x".repeat(63)] {
            assert!(TableName::new(good).is_ok(), "{good}");
        }
        let case = |name: &str| TableName::new(name).unwrap_err();
        assert_eq!(case("ab"), InvalidName::Length);
        assert_eq!(case(""), InvalidName::Length);
        assert_eq!(case(&"x".repeat(64)), InvalidName::Length);
        assert_eq!(case("1abc"), InvalidName::Characters);
        assert_eq!(case("my-table"), InvalidName::Characters);
        assert_eq!(case("täble"), InvalidName::Characters);
        assert_eq!(case("TaBles"), InvalidName::Reserved);
    }

    #[test]
    fn queues() {
        for good in ["abc", "1-2", "a-b-c", &"x".repeat(63)] {
            assert!(QueueName::new(good).is_ok(), "{good}");
        }
        for bad in ["Abc", "a_b", "$logs", "-ab", "ab-", "a--b", "äbc"] {
            assert_eq!(QueueName::new(bad), Err(InvalidName::Characters), "{bad}");
        }
        for bad in ["", "ab", &"x".repeat(64)] {
            assert_eq!(QueueName::new(bad), Err(InvalidName::Length), "{bad}");
        }
    }

    #[test]
    fn accounts() {
        assert!(AccountName::new("devstoreaccount1").is_ok());
        assert_eq!(AccountName::new("Dev"), Err(InvalidName::Characters));
        assert_eq!(AccountName::new("de"), Err(InvalidName::Length));
    }

    #[test]
    fn properties() {
        for good in ["a", "_x", "Größe", "a1", "odata_x"] {
            assert_eq!(check_property_name(good), Ok(()), "{good}");
        }
        for bad in ["", "1a", "a-b", "a b", "a.b", "a\u{0}", "é-"] {
            assert_eq!(
                check_property_name(bad),
                Err(LimitError::PropertyNameInvalid),
                "{bad}"
            );
        }
        assert_eq!(check_property_name(&"x".repeat(255)), Ok(()));
        assert_eq!(
            check_property_name(&"x".repeat(256)),
            Err(LimitError::PropertyNameTooLong)
        );
    }

    #[test]
    fn keys() {
        for good in ["", "a b", "O'Neil", "%", "+", "\u{1F600}", "\u{FFFF}"] {
            assert_eq!(check_key(good), Ok(()), "{good:?}");
        }
        for bad in ["/", "\\", "#", "?", "\u{1F}", "\u{7F}", "\u{9F}", "\u{0}"] {
            assert_eq!(check_key(bad), Err(InvalidKey::Characters), "{bad:?}");
        }
        assert_eq!(check_key(&"é".repeat(512)), Ok(()));
        assert_eq!(check_key(&"x".repeat(513)), Err(InvalidKey::TooLong));
    }
}
