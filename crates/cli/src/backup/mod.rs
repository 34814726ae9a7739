//! `partita backup`, `partita backup verify` and `partita restore`: copies of a snapshot outside the store.

mod create;
pub(crate) mod restore;
mod verify;

use crate::command::{OrSubcommand, commands};
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
}
