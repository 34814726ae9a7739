//! `partita backup`, `partita backup verify` and `partita restore`: copies of a snapshot outside the store.

mod create;
pub(crate) mod restore;
mod verify;

use crate::command::{CommandError, OrSubcommand, commands};
use partita_server::backup::Place;

/// A backup, or a command on one.
pub(crate) type BackupCommand = OrSubcommand<create::CreateCommand, OfBackupCommand>;

commands! {
    pub(crate) enum OfBackupCommand {
        Verify(verify::VerifyCommand),
    }
}

/// Reads a place: a URL, or a path, which is made absolute.
fn parse_place(text: &str) -> Result<Place, String> {
    if text.contains("://") {
        return Place::parse(text).map_err(|error| error.to_string());
    }
    let path = std::path::absolute(text).map_err(|error| error.to_string())?;
    let path = path
        .to_str()
        .ok_or_else(|| "the path is not valid UTF-8".to_owned())?;
    Place::parse(path).map_err(|error| error.to_string())
}

/// Reads the URL of an object store. As for a server, a path is not enough, because it would be a data directory.
fn parse_store(text: &str) -> Result<Place, String> {
    match text.contains("://") {
        true => Place::parse(text).map_err(|error| error.to_string()),
        false => {
            Err("expected s3://BUCKET/PREFIX, az://CONTAINER/PREFIX or file:///DIR".to_owned())
        }
    }
}

/// Checks that the directory of a backup exists: opening a place creates a missing directory.
fn check_exists(place: &Place) -> Result<(), CommandError> {
    match place {
        Place::Directory(path) if !path.is_dir() => Err(CommandError::usage(format!(
            "no directory {}",
            path.display()
        ))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Backup {
        #[command(flatten)]
        backup: BackupCommand,
    }

    #[test]
    fn the_command_creates_or_verifies_a_backup() {
        let parsed = |line: &str| {
            let backup = Backup::try_parse_from(line.split_whitespace()).unwrap();
            let BackupCommand {
                subcommand,
                command,
            } = backup.backup;
            (subcommand.is_some(), command.is_some())
        };
        assert_eq!(parsed("backup --to place"), (false, true));
        assert_eq!(parsed("backup nightly --to place"), (false, true));
        assert_eq!(parsed("backup verify place"), (true, false));
    }

    #[test]
    fn a_missing_directory_is_not_created() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("missing");
        assert!(check_exists(&Place::Directory(directory.path().to_owned())).is_ok());
        let error = check_exists(&Place::Directory(path.clone())).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("no directory {}", path.display())
        );
        assert!(!path.exists());
    }
}
