//! Reads the name from the body of Create Table.

use super::entity_reader::text_of;
use super::typed_value::unreadable;
use crate::json::{Scanner, Token};
use crate::{ErrorCode, Failure};

/// Reads `{"TableName":"…"}`; other members are ignored. Whether the text is a table's name is left to
/// [`partita_model::TableName::new`].
///
/// # Errors
/// 400 InvalidInput for what is no JSON object or gives no text; PropertiesNeedValue when the name is missing or null.
pub fn read_table_name(body: &[u8]) -> Result<String, Failure> {
    let mut scanner = Scanner::new(body).ok_or_else(unreadable)?;
    let mut found = None;
    if !scanner.take(b'{') {
        return Err(unreadable());
    }
    if !scanner.take(b'}') {
        loop {
            let name = scanner.name().ok_or_else(unreadable)?;
            let value = scanner.value().ok_or_else(unreadable)?;
            if text_of(name)? == "TableName" && value != Token::Null {
                found = Some(text_of(value)?.into_owned());
            }
            if !scanner.take(b',') {
                break;
            }
        }
        if !scanner.take(b'}') {
            return Err(unreadable());
        }
    }
    if !scanner.is_done() {
        return Err(unreadable());
    }
    found.ok_or_else(|| ErrorCode::PropertiesNeedValue.into())
}
