//! The token that an interrupted command prints: its position and its counts so far.
//!
//! The token is compressed, because a scan with many jobs has hundreds of similar open steps. A token that is too long
//! for a command line can be given as a file.

use crate::error::{Because as _, CommandError};
use crate::progress::message;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use partita_client::TableClient;
use partita_tools::scan::ResumeToken;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{self, Read as _};

/// Format version of tokens.
const VERSION: char = '2';

/// A token of at least this many characters is printed to be saved in a file, instead of for the command line. Linux
/// limits an argument to 131,072 characters, other systems to less.
const LONG: usize = 30_000;

/// Limit of the unpacked bytes of a token, which is untrusted input.
const UNPACKED_MAX: u64 = 256 << 20;

/// Position and counts of a scan.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ScanResume<S> {
    /// The account, not the endpoint: one server may have several endpoints.
    account: String,
    table: String,
    pub(crate) scan: ResumeToken,
    /// The counts of the command.
    pub(crate) state: S,
}

impl<S: Serialize + DeserializeOwned> ScanResume<S> {
    pub(crate) fn new(table: &TableClient, scan: ResumeToken, state: S) -> Self {
        Self {
            account: table.endpoint().account().to_owned(),
            table: table.name().to_owned(),
            scan,
            state,
        }
    }

    /// Reads the token of a run of the same command on the same table.
    pub(crate) fn read(
        text: &str,
        command: &str,
        table: &TableClient,
    ) -> Result<Self, CommandError> {
        let resume: Self = read_token(text, command)?;
        let (account, name) = (table.endpoint().account(), table.name());
        if resume.account == account && resume.table.eq_ignore_ascii_case(name) {
            return Ok(resume);
        }
        Err(CommandError::usage(format!(
            "the resume token is from table {} of {}, not {name} of {account}",
            resume.table, resume.account
        )))
    }
}

/// Prints how to resume from a position.
pub(crate) fn print_token(command: &str, position: &impl Serialize) {
    // Text and numbers only: this cannot fail.
    let token = pack(command, position).unwrap_or_default();
    message(&if token.len() < LONG {
        format!("to resume, repeat the command with --resume {token}")
    } else {
        format!(
            "to resume, save this as a file and repeat the command with --resume @FILE:\n{token}"
        )
    });
}

fn pack(command: &str, position: &impl Serialize) -> io::Result<String> {
    let json = serde_json::to_vec(position)?;
    let packed = zstd::encode_all(&*json, 0)?;
    let token = URL_SAFE_NO_PAD.encode(packed);
    Ok(format!("{command}{VERSION}.{token}"))
}

/// Reads the token of a run of the same command, or the file named by `@FILE`.
pub(crate) fn read_token<T: DeserializeOwned>(
    text: &str,
    command: &str,
) -> Result<T, CommandError> {
    match text.strip_prefix('@') {
        None => unpack(text, command),
        Some(path) => {
            let token = std::fs::read_to_string(path).because(format!("cannot read {path}"))?;
            unpack(&token, command)
        }
    }
}

fn unpack<T: DeserializeOwned>(text: &str, command: &str) -> Result<T, CommandError> {
    let invalid = || CommandError::usage(format!("not a resume token of partita {command}"));
    let token = text.trim().strip_prefix(command).ok_or_else(invalid)?;
    let token = token.strip_prefix(VERSION).ok_or_else(invalid)?;
    let token = token.strip_prefix('.').ok_or_else(invalid)?;
    let packed = URL_SAFE_NO_PAD.decode(token).map_err(|_| invalid())?;
    let json = zstd::Decoder::new(&*packed).map_err(|_| invalid())?;
    serde_json::from_reader(json.take(UNPACKED_MAX)).map_err(|_| invalid())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_read_from_its_token_and_from_a_file() {
        let position: Vec<String> = (0..2_000).map(|step| format!("open step {step}")).collect();
        let token = pack("scan", &position).unwrap();
        assert!(token.len() < LONG, "{}", token.len());
        assert_eq!(read_token::<Vec<String>>(&token, "scan").unwrap(), position);
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), format!("{token}\n")).unwrap();
        let path = format!("@{}", file.path().display());
        assert_eq!(read_token::<Vec<String>>(&path, "scan").unwrap(), position);
    }

    #[test]
    fn other_texts_are_refused() {
        let token = pack("scan", &1).unwrap();
        let cut = &token[..token.len() - 4];
        for text in [
            "",
            "scan2.",
            "scan1.e30",
            "scan2.!",
            cut,
            &token.replace("scan2", "scan3"),
            "@/no/such/file",
        ] {
            assert!(read_token::<u64>(text, "scan").is_err(), "{text}");
        }
        assert!(read_token::<u64>(&token, "count").is_err());
    }
}
