//! The token that an interrupted run prints: where its scan stands, and what the verb has counted so far. Compressed, because a scan
//! with many jobs has hundreds of open steps, which are much alike; one that no command line holds can be given as a file.

use crate::error::Failure;
use crate::progress::say;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use partita_client::TableClient;
use partita_tools::scan::ResumeToken;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{self, Read as _};

/// What tells tokens of another version.
const VERSION: char = '2';

/// From so many characters on a token is better kept in a file: Linux takes 131,072 of an argument, others fewer.
const LONG: usize = 30_000;

/// Bytes of what a token unpacks to; more is none of ours.
const UNPACKED_MAX: u64 = 256 << 20;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Resume<S> {
    /// Whose table was read. It stands for the endpoint: a server is reached at many.
    account: String,
    /// The table.
    table: String,
    /// Where the scan stands.
    pub(crate) scan: ResumeToken,
    /// What the verb has counted.
    pub(crate) state: S,
}

impl<S: Serialize + DeserializeOwned> Resume<S> {
    pub(crate) fn new(table: &TableClient, scan: ResumeToken, state: S) -> Self {
        Self {
            account: table.endpoint().account().to_owned(),
            table: table.name().to_owned(),
            scan,
            state,
        }
    }

    /// Reads the token of a run of the same verb on the same table.
    pub(crate) fn read(text: &str, verb: &str, table: &TableClient) -> Result<Self, Failure> {
        let resume: Self = read(text, verb)?;
        let (account, name) = (table.endpoint().account(), table.name());
        if resume.account == account && resume.table.eq_ignore_ascii_case(name) {
            return Ok(resume);
        }
        Err(Failure::usage(format!(
            "the resume token is from table {} of {}, not {name} of {account}",
            resume.table, resume.account
        )))
    }
}

/// Says how to go on from where a verb stands.
pub(crate) fn print(verb: &str, stand: &impl Serialize) {
    // Texts and numbers only: this cannot fail, and there is nothing to do if it did.
    let token = pack(verb, stand).unwrap_or_default();
    say(&if token.len() < LONG {
        format!("to go on from here, repeat the command with --resume {token}")
    } else {
        format!(
            "to go on from here, save this as a file and repeat the command with --resume @FILE:\n{token}"
        )
    });
}

fn pack(verb: &str, stand: &impl Serialize) -> io::Result<String> {
    let json = serde_json::to_vec(stand)?;
    let packed = zstd::encode_all(&*json, 0)?;
    let token = URL_SAFE_NO_PAD.encode(packed);
    Ok(format!("{verb}{VERSION}.{token}"))
}

/// Reads the token of a run of the same verb, or the file with it that `@` names.
pub(crate) fn read<T: DeserializeOwned>(text: &str, verb: &str) -> Result<T, Failure> {
    match text.strip_prefix('@') {
        None => unpack(text, verb),
        Some(path) => {
            let text = std::fs::read_to_string(path)
                .map_err(|error| Failure::usage(format!("cannot read {path}: {error}")))?;
            unpack(&text, verb)
        }
    }
}

fn unpack<T: DeserializeOwned>(text: &str, verb: &str) -> Result<T, Failure> {
    let invalid = || Failure::usage(format!("this is no resume token of partita {verb}"));
    let token = text.trim().strip_prefix(verb).ok_or_else(invalid)?;
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
    fn a_stand_comes_back_from_its_token_and_from_a_file_with_it() {
        let stand: Vec<String> = (0..2_000).map(|step| format!("open step {step}")).collect();
        let token = pack("scan", &stand).unwrap();
        assert!(token.len() < LONG, "{}", token.len());
        assert_eq!(read::<Vec<String>>(&token, "scan").unwrap(), stand);
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), format!("{token}\n")).unwrap();
        let path = format!("@{}", file.path().display());
        assert_eq!(read::<Vec<String>>(&path, "scan").unwrap(), stand);
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
            assert!(read::<u64>(text, "scan").is_err(), "{text}");
        }
        assert!(read::<u64>(&token, "count").is_err());
    }
}
