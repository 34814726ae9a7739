//! Continuation tokens: where the next page begins.
//!
//! Form, as recorded and as tools read it: `1!<length>!<text>`, where the text is the base64 of the key's UTF-8 with `*` for
//! `+`, `_` for `/` and `-` for `=`, and the length counts the characters of the text. For tables the key is the name in lower
//! case, a byte 1 and 16 hex digits, the table's creation time (recording
//! js--tableserviceclient_listtables_should_list_a_specific_page_with_continuationtoken).
//!
//! A token names the next row itself; if that is gone meanwhile, the page begins with the one after it. The text is ASCII without
//! anything that a header or, but for `!` and `*`, a URL would have to encode; both forms come back from clients, and
//! percent-decoding is the caller's.

use crate::{ErrorCode, Failure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use partita_model::DateTime;

/// Length of a token, in bytes: a key of 512 UTF-16 units has 1,536 bytes of UTF-8 at most.
const TOKEN_BYTES_MAX: usize = 4096;
/// Sets the creation time off from a table's name.
const NAME_END: char = '\u{1}';

/// Where a query of entities goes on: `x-ms-continuation-NextPartitionKey` and `-NextRowKey`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntityToken {
    /// The first PartitionKey of the next page.
    pub partition_key: String,
    /// Its first RowKey; none begins at the start of the partition.
    pub row_key: Option<String>,
}

impl EntityToken {
    /// Reads the decoded query parameters `NextPartitionKey` and `NextRowKey`. Without both, or with empty ones, the query
    /// begins at its beginning.
    ///
    /// # Errors
    /// 400 InvalidInput for a text that is no token, and for a RowKey without PartitionKey.
    pub fn parse(
        partition_key: Option<&str>,
        row_key: Option<&str>,
    ) -> Result<Option<Self>, Failure> {
        let given =
            |text: Option<&str>| text.filter(|text| !text.is_empty()).map(decode).transpose();
        match (given(partition_key)?, given(row_key)?) {
            (None, None) => Ok(None),
            (None, Some(_)) => Err(ErrorCode::InvalidInput.into()),
            (Some(partition_key), row_key) => Ok(Some(Self {
                partition_key,
                row_key,
            })),
        }
    }

    /// The value of `x-ms-continuation-NextPartitionKey`.
    #[must_use]
    pub fn partition_key_text(&self) -> String {
        encode(&self.partition_key)
    }

    /// The value of `x-ms-continuation-NextRowKey`, which may be absent.
    #[must_use]
    pub fn row_key_text(&self) -> Option<String> {
        self.row_key.as_deref().map(encode)
    }
}

/// Where a list of tables goes on: `x-ms-continuation-NextTableName`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableToken {
    /// The first name of the next page, in lower case.
    pub folded_name: String,
}

impl TableToken {
    /// Reads the decoded query parameter `NextTableName`. Without it, or with an empty one, the list begins at its beginning.
    /// The creation time is not looked at: a table made anew under the name is as good.
    ///
    /// # Errors
    /// 400 InvalidInput for a text that is no token.
    pub fn parse(text: Option<&str>) -> Result<Option<Self>, Failure> {
        let Some(text) = text.filter(|text| !text.is_empty()) else {
            return Ok(None);
        };
        let key = decode(text)?;
        let name = key.split(NAME_END).next().unwrap_or_default();
        Ok(Some(Self {
            folded_name: name.to_ascii_lowercase(),
        }))
    }

    /// The value of `x-ms-continuation-NextTableName` for a table created at that time.
    #[must_use]
    pub fn text(&self, created: DateTime) -> String {
        encode(&format!(
            "{}{NAME_END}{:016x}",
            self.folded_name,
            created.ticks()
        ))
    }
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
    // The signs of plain base64 are read as well: tools put them back.
    let base64 = text.replace('*', "+").replace('_', "/").replace('-', "=");
    String::from_utf8(STANDARD.decode(base64).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_form_is_the_recorded_one() {
        let token = EntityToken {
            partition_key: "pk801016e8".into(),
            row_key: Some(String::new()),
        };
        assert_eq!(token.partition_key_text(), "1!16!cGs4MDEwMTZlOA--");
        assert_eq!(token.row_key_text().as_deref(), Some("1!0!"));
        let read = EntityToken::parse(Some("1!16!cGs4MDEwMTZlOA--"), Some("1!0!"));
        assert_eq!(read, Ok(Some(token)));
        // `Smith` as a captured Python client sent it back.
        let read = EntityToken::parse(Some("1!8!U21pdGg-"), None)
            .unwrap()
            .unwrap();
        assert_eq!((read.partition_key.as_str(), read.row_key), ("Smith", None));
        assert_eq!(EntityToken::parse(None, Some("")), Ok(None));
    }

    #[test]
    fn tables_carry_their_creation_time() {
        let token = TableToken {
            folded_name: "mytable".into(),
        };
        let text = token.text(DateTime::UNIX_EPOCH);
        assert_eq!(decoded(&text).unwrap(), "mytable\u{1}089f7ff5f7b58000");
        assert_eq!(TableToken::parse(Some(&text)), Ok(Some(token)));
        assert_eq!(TableToken::parse(None), Ok(None));
    }

    #[test]
    fn what_is_no_token_is_refused() {
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
            let refused = EntityToken::parse(Some(bad), None).unwrap_err();
            assert_eq!(refused.code, ErrorCode::InvalidInput, "{bad}");
            assert!(TableToken::parse(Some(bad)).is_err(), "{bad}");
        }
        assert!(EntityToken::parse(None, Some("1!0!")).is_err());
        let long = "x".repeat(TOKEN_BYTES_MAX);
        assert!(EntityToken::parse(Some(&encode(&long)), None).is_err());
    }

    proptest! {
        #[test]
        fn keys_round_trip(partition_key: String, row_key: Option<String>) {
            let token = EntityToken { partition_key, row_key };
            let (first, second) = (token.partition_key_text(), token.row_key_text());
            prop_assert!(first.bytes().all(|byte| byte.is_ascii_graphic()));
            prop_assert_eq!(EntityToken::parse(Some(&first), second.as_deref()), Ok(Some(token)));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "(1!)?[0-9]{0,2}!?.{0,20}") {
            let _ = EntityToken::parse(Some(&text), Some(&text));
            let _ = TableToken::parse(Some(&text));
        }
    }
}
