//! Request and answer bodies of Partita's extensions for tables: `comp=partita-settings`, `comp=partita-rename`
//! (`docs/extensions.md`).

use crate::{ErrorCode, Failure};
use partita_model::{DateTime, TimeToLive};
use serde::{Deserialize, Serialize};

/// The properties of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableSettings {
    /// The name of the table in its original case.
    pub name: String,
    /// When the table was created.
    pub created: DateTime,
    /// How long entities live after their last write; `None` if they do not expire.
    #[serde(rename = "ttl_seconds", with = "ttl_seconds", default)]
    pub ttl: Option<TimeToLive>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ChangeBody {
    /// Must be present, `null` for no time to live: an empty object sent by mistake must not remove the time to live.
    #[serde(rename = "ttl_seconds", with = "ttl_seconds")]
    ttl: Option<TimeToLive>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RenameBody {
    to: String,
}

/// A time to live as a number of seconds, or null.
mod ttl_seconds {
    use super::TimeToLive;
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(
        ttl: &Option<TimeToLive>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        ttl.map(TimeToLive::seconds).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<TimeToLive>, D::Error> {
        let ttl = Option::deserialize(from)?.map(TimeToLive::from_seconds);
        ttl.transpose().map_err(D::Error::custom)
    }
}

impl TableSettings {
    /// The answer of Get Table Settings.
    pub fn write(&self) -> Vec<u8> {
        written(self)
    }

    /// Reads the answer of Get Table Settings. Unknown members are ignored, because newer servers may add members.
    ///
    /// # Errors
    /// 400 InvalidInput.
    pub fn read(body: &[u8]) -> Result<Self, Failure> {
        read(body)
    }
}

/// The body of Set Table Settings.
pub fn write_table_settings(ttl: Option<TimeToLive>) -> Vec<u8> {
    written(&ChangeBody { ttl })
}

/// Reads the body of Set Table Settings: the time to live, or null for none.
///
/// # Errors
/// 400 InvalidInput.
pub fn read_table_settings(body: &[u8]) -> Result<Option<TimeToLive>, Failure> {
    read(body).map(|ChangeBody { ttl }| ttl)
}

/// The body of Rename Table.
pub fn write_rename(to: &str) -> Vec<u8> {
    written(&RenameBody { to: to.to_owned() })
}

/// Reads the body of Rename Table: the new name, unchecked.
///
/// # Errors
/// 400 InvalidInput.
pub fn read_rename(body: &[u8]) -> Result<String, Failure> {
    read(body).map(|RenameBody { to }| to)
}

fn written(body: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(body).expect("JSON can represent every body")
}

/// Reads a body. The failure is 400 InvalidInput with the reason as its text. (The service's own operations give no
/// reason.)
fn read<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, Failure> {
    serde_json::from_slice(body)
        .map_err(|error| Failure::with_message(ErrorCode::InvalidInput, error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_round_trip() {
        for ttl in [None, Some(TimeToLive::MIN), Some(TimeToLive::MAX)] {
            assert_eq!(read_table_settings(&write_table_settings(ttl)), Ok(ttl));
            let settings = TableSettings {
                name: "People".into(),
                created: DateTime::UNIX_EPOCH,
                ttl,
            };
            assert_eq!(TableSettings::read(&settings.write()), Ok(settings));
        }
        assert_eq!(read_rename(&write_rename("People")), Ok("People".into()));
    }

    #[test]
    fn missing_invalid_and_unknown_members_are_refused() {
        for body in [
            "",
            "{}",
            "[]",
            r#"{"ttl_seconds":0}"#,
            r#"{"ttl_seconds":-1}"#,
            r#"{"ttl_seconds":1.5}"#,
            r#"{"ttl_seconds":99999999999}"#,
            r#"{"ttl_seconds":"1"}"#,
            r#"{"ttl_seconds":1,"more":1}"#,
        ] {
            let refused = read_table_settings(body.as_bytes()).unwrap_err();
            assert_eq!(refused.code, ErrorCode::InvalidInput, "{body}");
        }
        for body in [
            "{}",
            r#"{"to":1}"#,
            r#"{"to":null}"#,
            r#"{"to":"a","more":1}"#,
        ] {
            let refused = read_rename(body.as_bytes()).unwrap_err();
            assert_eq!(refused.code, ErrorCode::InvalidInput, "{body}");
        }
    }
}
