//! Settings: what the operator can say, in which layers, and what it amounts to.
//!
//! ```text
//! defaults < settings file (TOML) < environment (PARTITA_*) < flags
//! ```
//!
//! [`Layers`] collects texts, [`Values`] keeps for each setting the text that won and its [`Source`], [`Settings`] is
//! the typed result that the rest of the server sees. [`ALL`] describes every setting once; flags, variables and keys of
//! the file are made from it. Promises:
//!
//! - an unknown key of the file is an error that names the nearest known one;
//! - a wrong value is an error that names the setting and the layer it came from;
//! - no error and no display shows a key or a password.

mod accounts;
mod catalog;
mod checks;
mod layers;
mod parts;
mod quantity;
mod setting;
mod show;
mod targets;
mod values;

#[cfg(test)]
mod tests;

use std::path::PathBuf;

pub use accounts::{Account, AccountKey, AccountsError, WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY};
pub use catalog::{ACCEPTED, ALL};
pub use layers::{FILE_VARIABLE, Layers};
pub use parts::{
    AdminListener, Limits, Log, LogFormat, Oauth, Place, Settings, Store, TableListener, Tls,
};
pub use setting::{Accepted, Setting, Takes};
pub use show::{as_json, as_table};
pub use values::{Source, Value, Values};

/// Why the settings cannot be used. The text tells the operator what to change.
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
    /// The settings file has a key that does not exist.
    #[error("settings file {}: unknown key {key}{}", path.display(), suggestion(nearest.as_deref()))]
    UnknownKey {
        /// The file.
        path: PathBuf,
        /// The key.
        key: String,
        /// The known key most like it.
        nearest: Option<String>,
    },
    /// The settings file gives a key a value of the wrong shape, such as a list for a number.
    #[error("settings file {}: the value of {key} has the wrong shape", path.display())]
    Shape {
        /// The file.
        path: PathBuf,
        /// The key.
        key: String,
    },
    /// A value that cannot be used.
    #[error("{key} = {text:?} (by {layer}): {problem}")]
    Value {
        /// The setting's key.
        key: &'static str,
        /// What was given; hidden for secrets.
        text: String,
        /// Where it was given.
        layer: Source,
        /// What would be right.
        problem: String,
    },
    /// Settings that exclude or need each other.
    #[error("{0}")]
    Conflict(String),
}

fn suggestion(nearest: Option<&str>) -> String {
    nearest
        .map(|key| format!("; did you mean {key}?"))
        .unwrap_or_default()
}
