//! The token that an interrupted run prints: where its scan stands, and what the verb has counted so far.

use super::failure::Failure;
use super::talk::say;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use partita_tools::scan::ResumeToken;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// What tells tokens of another version.
const VERSION: char = '1';

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Resume<S> {
    /// The table that was read.
    pub(super) table: String,
    /// Where the scan stands.
    pub(super) scan: ResumeToken,
    /// What the verb has counted.
    pub(super) state: S,
}

impl<S: Serialize + DeserializeOwned> Resume<S> {
    /// Reads the token of a run of the same verb on the same table.
    pub(super) fn read(text: &str, verb: &str, table: &str) -> Result<Self, Failure> {
        let resume: Self = read(text, verb)?;
        if resume.table.eq_ignore_ascii_case(table) {
            return Ok(resume);
        }
        let other = &resume.table;
        Err(Failure::usage(format!(
            "the resume token is from table {other}, not {table}"
        )))
    }
}

/// Says how to go on from where a verb stands.
pub(super) fn print(verb: &str, stand: &impl Serialize) {
    // Texts and numbers only: this cannot fail, and there is nothing to do if it did.
    let json = serde_json::to_vec(stand).unwrap_or_default();
    let token = URL_SAFE_NO_PAD.encode(json);
    say(&format!(
        "to go on from here, repeat the command with --resume {verb}{VERSION}.{token}"
    ));
}

/// Reads the token of a run of the same verb.
pub(super) fn read<T: DeserializeOwned>(text: &str, verb: &str) -> Result<T, Failure> {
    let invalid = || Failure::usage(format!("this is no resume token of partita {verb}"));
    let token = text.trim().strip_prefix(verb).ok_or_else(invalid)?;
    let token = token.strip_prefix(VERSION).ok_or_else(invalid)?;
    let token = token.strip_prefix('.').ok_or_else(invalid)?;
    let json = URL_SAFE_NO_PAD.decode(token).map_err(|_| invalid())?;
    serde_json::from_slice(&json).map_err(|_| invalid())
}
