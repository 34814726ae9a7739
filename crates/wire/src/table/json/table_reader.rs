//! Reads the name from the body of Create Table.

use super::entity_reader::text_of;
use super::typed_value::unreadable;
use crate::json::{Scanner, Token};
use crate::{ErrorCode, Failure};

/// Reads `{"TableName":"…"}` and ignores other members. [`partita_model::TableName::new`] checks the name.
///
/// # Errors
/// 400 InvalidInput for a body that is not a JSON object, and for a name that is not text; PropertiesNeedValue for a
/// missing or null name.
pub fn read_table_name(body: &[u8]) -> Result<String, Failure> {
    let mut scanner = Scanner::new(body).ok_or_else(unreadable)?;
    let mut found = None;
    scanner.object(unreadable, |name, value| {
        if text_of(name)? == "TableName" && value != Token::Null {
            found = Some(text_of(value)?.into_owned());
        }
        Ok(())
    })?;
    if !scanner.is_done() {
        return Err(unreadable());
    }
    found.ok_or_else(|| ErrorCode::PropertiesNeedValue.into())
}
