//! `partita profile add NAME`: keeps an account and its credential under a name.

use super::{Profile, ProfilesFile};
use crate::prelude::*;
use partita_client::ServiceKind;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Limit of a secret's length, which may be read from any file.
const SECRET_BYTES_MAX: u64 = 64 * 1024;

/// Add a profile: an account by name, with its credential
#[derive(clap::Args)]
#[command(
    after_help = "Keys and signatures are read from files or stdin (-), so that neither shell history nor process lists have them. The emulators' account needs no key."
)]
pub(crate) struct AddCommand {
    /// Name: letters, digits, hyphens, dots and underscores
    #[arg(value_name = "NAME", value_parser = profile_name)]
    profile: String,
    /// File with a connection string
    #[arg(long, value_name = "FILE", conflicts_with_all = ["endpoint", "queue_endpoint", "account", "key_file", "sas_file"])]
    connection_string_file: Option<PathBuf>,
    /// Read the connection string from stdin
    #[arg(long, conflicts_with_all = ["connection_string_file", "endpoint", "queue_endpoint", "account", "key_file", "sas_file"])]
    connection_string_stdin: bool,
    /// URL of the table endpoint, such as http://127.0.0.1:10002/devstoreaccount1
    #[arg(long, value_name = "URL")]
    endpoint: Option<String>,
    /// URL of the queue endpoint, such as http://127.0.0.1:10001/devstoreaccount1
    #[arg(long, value_name = "URL")]
    queue_endpoint: Option<String>,
    /// Account name. Without endpoints, the account is in Azure; devstoreaccount1 is on this machine
    #[arg(long, value_name = "ACCOUNT")]
    account: Option<String>,
    /// File with the account key, Base64
    #[arg(long, value_name = "FILE", conflicts_with = "sas_file")]
    key_file: Option<PathBuf>,
    /// File with a shared access signature, instead of a key
    #[arg(long, value_name = "FILE")]
    sas_file: Option<PathBuf>,
    /// Replace a profile of this name
    #[arg(long)]
    overwrite: bool,
}

/// Checks the name of a profile.
fn profile_name(text: &str) -> Result<String, String> {
    let is_valid = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    if text.is_empty() || text.starts_with('-') || !text.bytes().all(is_valid) {
        return Err("write letters, digits, hyphens, dots and underscores".to_owned());
    }
    Ok(text.to_owned())
}

impl Command for AddCommand {
    fn run(self) -> CommandResult {
        let file = ProfilesFile::needed()?;
        let mut profiles = file.read()?;
        let name = &self.profile;
        if !self.overwrite && profiles.profiles.contains_key(name) {
            return Err(CommandError::usage(format!(
                "profile {name} exists already; --overwrite replaces it"
            )));
        }
        let profile = self.profile()?;
        let tables = profile.place(ServiceKind::Table);
        if let (Err(error), Err(_)) = (tables, profile.place(ServiceKind::Queue)) {
            return Err(error).because(format!("profile {name} cannot be used"));
        }
        profiles.profiles.insert(name.clone(), profile);
        file.write(&profiles)?;
        message(&format!(
            "profile {name} added to {}; use it with --profile {name}",
            file.path.display()
        ));
        Ok(Outcome::Done)
    }
}

impl AddCommand {
    fn profile(&self) -> Result<Profile, CommandError> {
        let secret = |path: &Option<PathBuf>| path.as_deref().map(read_secret).transpose();
        let connection_string = match self.connection_string_stdin {
            true => Some(read_secret(Path::new("-"))?),
            false => secret(&self.connection_string_file)?,
        };
        Ok(Profile {
            connection_string,
            endpoint: self.endpoint.clone(),
            queue_endpoint: self.queue_endpoint.clone(),
            account: self.account.clone(),
            key: secret(&self.key_file)?,
            sas: secret(&self.sas_file)?,
        })
    }
}

/// Reads one secret from a file, or from stdin for `-`. White space around it is removed.
fn read_secret(path: &Path) -> Result<String, CommandError> {
    let is_stdin = path.as_os_str() == "-";
    let name = match is_stdin {
        true => "stdin".to_owned(),
        false => path.display().to_string(),
    };
    let mut text = String::new();
    let read = if is_stdin {
        let mut limited = std::io::stdin().take(SECRET_BYTES_MAX);
        limited.read_to_string(&mut text)
    } else {
        let file = std::fs::File::open(path);
        file.and_then(|file| file.take(SECRET_BYTES_MAX).read_to_string(&mut text))
    };
    read.because(format!("cannot read {name}"))?;
    match text.trim() {
        "" => Err(CommandError::usage(format!("{name} is empty"))),
        text if text.contains('\n') => Err(CommandError::usage(format!(
            "{name} has more than one line; write only the connection string, key or signature into it"
        ))),
        text => Ok(text.to_owned()),
    }
}
