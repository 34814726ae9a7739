//! Settings of the server: their layers, their sources, and their typed values.
//!
//! ```text
//! defaults < settings file (TOML) < environment (PARTITA_*) < flags
//! ```
//!
//! [`ALL`] describes every setting once; flags, variables and keys of the file come from it. [`Layers`] collects texts,
//! [`Values`] holds the winning text of each setting with its [`Source`], and [`Settings`] is the typed result that the
//! rest of the server uses. Promises:
//!
//! - an unknown key of the file is an error that names the most similar known key;
//! - an invalid value is an error that names the setting, its layer and what is expected;
//! - no error and no output shows an account key or a password.
//!
//! `docs/design/0004-libraries.md` explains why the library figment is not used.

mod accounts;
mod catalog;
mod checks;
mod cluster;
mod layers;
mod listeners;
mod parts;
mod places;
mod quantity;
mod readers;
mod setting;
mod show;
mod targets;
mod values;

#[cfg(test)]
pub(crate) mod tests;

use std::path::PathBuf;

pub use accounts::{Account, AccountKey, AccountsError, WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY};
pub use catalog::{ACCEPTED, ALL};
pub use layers::{FILE_VARIABLE, Layers};
pub use parts::{
    AdminListener, ClusterSettings, DiskCacheSettings, Limits, Log, LogFormat, Oauth,
    ObjectStorePlace, Password, Place, ServiceListener, Settings, Store, Tls,
};
pub use quantity::bytes as parse_bytes;
pub use setting::{Setting, Takes};
pub use show::{as_json, as_table};
pub use values::{Source, Value, Values};

/// Why the settings are refused. The text tells the operator what to change.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The settings file cannot be read.
    #[error("settings file {} cannot be read", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The settings file is not TOML.
    #[error("settings file {} is not TOML: {error}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// The parser's reason, with line and column.
        error: String,
    },
    /// The settings file has an unknown key.
    #[error("settings file {}: unknown key {key}{}", path.display(), suggestion(nearest.as_deref()))]
    UnknownKey {
        /// The file.
        path: PathBuf,
        /// The key.
        key: String,
        /// The most similar known key.
        nearest: Option<String>,
    },
    /// A value of the settings file has a type that does not fit its key, such as a list for a number.
    #[error("settings file {}: invalid type of {key}: expected {expected}", path.display())]
    Type {
        /// The file.
        path: PathBuf,
        /// The key.
        key: String,
        /// What the key takes.
        expected: &'static str,
    },
    /// An invalid value.
    #[error("invalid value {text:?} of {key} (from {layer}): {problem}")]
    Value {
        /// The setting's key.
        key: &'static str,
        /// The text given; hidden for secrets.
        text: String,
        /// The layer that gave it.
        layer: Source,
        /// What is wrong with it, or what is expected.
        problem: String,
    },
    /// Settings that exclude or require each other.
    #[error("{0}")]
    Conflict(String),
}

fn suggestion(nearest: Option<&str>) -> String {
    nearest
        .map(|key| format!("; did you mean {key}?"))
        .unwrap_or_default()
}
