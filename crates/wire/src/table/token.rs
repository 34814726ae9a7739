//! Writes and reads the text of continuation tokens.
//!
//! The form, as recorded and as tools expect it: `1!<length>!<text>`, where the text is the base64 of the key's UTF-8
//! with `*` for `+`, `_` for `/` and `-` for `=`, and the length counts the characters of the text. For tables the key
//! is the name in lower case, a byte 1 and 16 hex digits, the table's creation time (recording
//! js--tableserviceclient_listtables_should_list_a_specific_page_with_continuationtoken).
//!
//! A token names the next row; if that row is deleted meanwhile, the page begins with the row after it. The text is
//! ASCII and needs no encoding in a header; in a URL only `!` and `*` do. Clients send these characters plain or
//! encoded, so callers must decode tokens first.

use crate::{ErrorCode, Failure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use partita_model::{ContinuationToken, DateTime, EntityPosition};

/// The maximum length of a token, in bytes. The longest key (512 UTF-16 units, at most 1,536 bytes of UTF-8) has a
/// token of about 2,060 bytes.
const TOKEN_BYTES_MAX: usize = 4096;
/// Separates the creation time from a table's name.
const NAME_END: char = '\u{1}';

/// Reads the decoded query parameters `NextPartitionKey` and `NextRowKey`. Without both, or with empty ones, the query
/// starts at the first row.
///
/// # Errors
/// 400 InvalidInput for a malformed token, and for a RowKey without PartitionKey.
pub fn read_entity_token(
    next_partition_key: Option<&str>,
    next_row_key: Option<&str>,
) -> Result<Option<EntityPosition>, Failure> {
    let given = |text: Option<&str>| text.filter(|text| !text.is_empty()).map(decode).transpose();
    match (given(next_partition_key)?, given(next_row_key)?) {
        (None, None) => Ok(None),
        (None, Some(_)) => Err(ErrorCode::InvalidInput.into()),
        (Some(partition_key), row_key) => Ok(Some(EntityPosition {
            partition_key,
            row_key,
        })),
    }
}

/// The token with which a query of entities resumes at a position.
pub fn write_entity_token(position: &EntityPosition) -> ContinuationToken {
    ContinuationToken {
        next_partition_key: encode(&position.partition_key),
        next_row_key: position.row_key.as_deref().map(encode),
    }
}

/// Reads the decoded query parameter `NextTableName`: the first name of the page, in lower case. Without it, or with an
/// empty one, the list starts at the first table. The creation time is ignored, so the token stays valid for a new
/// table with the same name.
///
/// # Errors
/// 400 InvalidInput for a malformed token.
pub fn read_table_token(next_table_name: Option<&str>) -> Result<Option<String>, Failure> {
    let Some(text) = next_table_name.filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let key = decode(text)?;
    let name = key.split(NAME_END).next().unwrap_or_default();
    Ok(Some(name.to_ascii_lowercase()))
}

/// The value of `x-ms-continuation-NextTableName` for a page that starts at this table.
pub fn write_table_token(folded_name: &str, created: DateTime) -> String {
    encode(&format!("{folded_name}{NAME_END}{:016x}", created.ticks()))
}

fn encode(key: &str) -> String {
    let base64 = STANDARD.encode(key);
    let text = base64.replace('+', "*").replace('/', "_").replace('=', "-");
    format!("1!{}!{text}", text.len())
}

fn decode(token: &str) -> Result<String, Failure> {
    decoded(token).ok_or_else(|| ErrorCode::InvalidInput.into())
}

fn decoded(token: &str) -> Option<String> {
    if token.len() > TOKEN_BYTES_MAX {
        return None;
    }
    let (length, text) = token.strip_prefix("1!")?.split_once('!')?;
    if length.parse() != Ok(text.len()) {
        return None;
    }
    // Plain Base64 is accepted too, because some tools convert the characters back.
    let base64 = text.replace('*', "+").replace('_', "/").replace('-', "=");
    String::from_utf8(STANDARD.decode(base64).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn tokens_have_the_recorded_form() {
        let position = EntityPosition {
            partition_key: "pk801016e8".into(),
            row_key: Some(String::new()),
        };
        let token = write_entity_token(&position);
        assert_eq!(token.next_partition_key, "1!16!cGs4MDEwMTZlOA--");
        assert_eq!(token.next_row_key.as_deref(), Some("1!0!"));
        let read = read_entity_token(Some("1!16!cGs4MDEwMTZlOA--"), Some("1!0!"));
        assert_eq!(read, Ok(Some(position)));
        // `Smith`, as captured from a Python client.
        let read = read_entity_token(Some("1!8!U21pdGg-"), None)
            .unwrap()
            .unwrap();
        assert_eq!((read.partition_key.as_str(), read.row_key), ("Smith", None));
        assert_eq!(read_entity_token(None, Some("")), Ok(None));
    }

    #[test]
    fn tables_have_their_creation_time() {
        let text = write_table_token("mytable", DateTime::UNIX_EPOCH);
        assert_eq!(decoded(&text).unwrap(), "mytable\u{1}089f7ff5f7b58000");
        assert_eq!(
            read_table_token(Some(&text)),
            Ok(Some("mytable".to_owned()))
        );
        assert_eq!(read_table_token(None), Ok(None));
    }

    #[test]
    fn malformed_tokens_are_refused() {
        for bad in [
            "x",
            "1!",
            "1!8!",
            "1!9!U21pdGg-",
            "2!8!U21pdGg-",
            "1!8!U21pdGg",
            "1!3!!!!",
            "1!4!_-_-",
            "1!4!gICA",
        ] {
            let refused = read_entity_token(Some(bad), None).unwrap_err();
            assert_eq!(refused.code, ErrorCode::InvalidInput, "{bad}");
            assert!(read_table_token(Some(bad)).is_err(), "{bad}");
        }
        assert!(read_entity_token(None, Some("1!0!")).is_err());
        let long = "x".repeat(TOKEN_BYTES_MAX);
        assert!(read_entity_token(Some(&encode(&long)), None).is_err());
    }

    proptest! {
        #[test]
        fn keys_round_trip(partition_key: String, row_key: Option<String>) {
            let position = EntityPosition { partition_key, row_key };
            let token = write_entity_token(&position);
            let (first, second) = (token.next_partition_key, token.next_row_key);
            prop_assert!(first.bytes().all(|byte| byte.is_ascii_graphic()));
            prop_assert_eq!(read_entity_token(Some(&first), second.as_deref()), Ok(Some(position)));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "(1!)?[0-9]{0,2}!?.{0,20}") {
            let _ = read_entity_token(Some(&text), Some(&text));
            let _ = read_table_token(Some(&text));
        }
    }
}
