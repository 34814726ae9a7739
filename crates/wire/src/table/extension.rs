//! Bodies of the operations on tables that are ours: `comp=partita-settings`, `partita-rename`, `partita-truncate`
//! (`docs/extensions.md`).

use crate::{ErrorCode, Failure};
use partita_model::{DateTime, TimeToLive};
use serde::{Deserialize, Serialize};

/// What a table is like, besides its rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableSettings {
    /// Its name in the case in which it was made.
    pub name: String,
    /// When it was made.
    pub created: DateTime,
    /// How long its entities live after their last write; without, for ever.
    pub ttl: Option<TimeToLive>,
}

#[derive(Serialize, Deserialize)]
struct SettingsBody {
    name: String,
    created: String,
    ttl_seconds: Option<u64>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ChangeBody {
    /// Required, though it may be null: an empty object by mistake must not make entities immortal.
    #[serde(deserialize_with = "Option::deserialize")]
    ttl_seconds: Option<u64>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RenameBody {
    to: String,
}

impl TableSettings {
    /// The answer of Get Table Settings.
    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        let Self { name, created, ttl } = self;
        written(&SettingsBody {
            name: name.clone(),
            created: created.to_string(),
            ttl_seconds: ttl.map(TimeToLive::seconds),
        })
    }

    /// Reads that answer. Members that are not known are ignored: a later server may have more.
    ///
    /// # Errors
    /// 400 InvalidInput.
    pub fn read(body: &[u8]) -> Result<Self, Failure> {
        let SettingsBody {
            name,
            created,
            ttl_seconds,
        } = read(body)?;
        Ok(Self {
            name,
            created: DateTime::parse(&created).map_err(invalid)?,
            ttl: time_to_live(ttl_seconds)?,
        })
    }
}

/// The body of Set Table Settings.
#[must_use]
pub fn write_table_settings(ttl: Option<TimeToLive>) -> Vec<u8> {
    written(&ChangeBody {
        ttl_seconds: ttl.map(TimeToLive::seconds),
    })
}

/// Reads that body: the time to live, or null for none.
///
/// # Errors
/// 400 InvalidInput.
pub fn read_table_settings(body: &[u8]) -> Result<Option<TimeToLive>, Failure> {
    let ChangeBody { ttl_seconds } = read(body)?;
    time_to_live(ttl_seconds)
}

/// The body of Rename Table.
#[must_use]
pub fn write_rename(to: &str) -> Vec<u8> {
    written(&RenameBody { to: to.to_owned() })
}

/// Reads that body: the new name, unchecked.
///
/// # Errors
/// 400 InvalidInput.
pub fn read_rename(body: &[u8]) -> Result<String, Failure> {
    let RenameBody { to } = read(body)?;
    Ok(to)
}

fn written(body: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(body).expect("bodies hold nothing that JSON cannot say")
}

fn read<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, Failure> {
    serde_json::from_slice(body).map_err(invalid)
}

fn time_to_live(seconds: Option<u64>) -> Result<Option<TimeToLive>, Failure> {
    let ttl = seconds.map(TimeToLive::from_seconds).transpose();
    ttl.map_err(invalid)
}

/// Ours, so it may say what is wrong.
fn invalid(error: impl std::fmt::Display) -> Failure {
    Failure::with_message(ErrorCode::InvalidInput, error.to_string())
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
    fn what_is_not_said_or_not_known_is_refused() {
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
