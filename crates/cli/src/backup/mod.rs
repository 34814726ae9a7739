//! `partita backup`, `partita backup verify` and `partita restore`: copies of a snapshot outside the store.

mod create;
pub(crate) mod restore;
mod verify;

use crate::command::{Command, commands};
use crate::error::{CommandError, CommandResult};
use partita_server::backup::Place;

#[derive(clap::Args)]
#[command(
    about = "Copy a snapshot into a directory or an object store",
    after_help = "To resume after an interruption, run the command again with the same NAME: complete parts are not copied again.\n`partita restore` makes a data directory from a backup.",
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true
)]
pub(crate) struct BackupCommand {
    #[command(subcommand)]
    of_backup: Option<OfBackupCommand>,
    #[command(flatten)]
    create: Option<create::CreateArgs>,
}

commands! {
    enum OfBackupCommand {
        Verify(verify::VerifyCommand),
    }
}

impl Command for BackupCommand {
    fn run(self) -> CommandResult {
        match (self.of_backup, self.create) {
            (Some(command), _) => command.run(),
            (None, Some(command)) => command.run(),
            (None, None) => Err(CommandError::usage("--to is missing")),
        }
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
    fn it_makes_a_backup_or_verifies_one() {
        let parsed = |line: &str| {
            let backup = Backup::try_parse_from(line.split_whitespace()).unwrap();
            let BackupCommand { of_backup, create } = backup.backup;
            (of_backup.is_some(), create.is_some())
        };
        assert_eq!(parsed("backup --to place"), (false, true));
        assert_eq!(parsed("backup nightly --to place"), (false, true));
        assert_eq!(parsed("backup verify place"), (true, false));
    }
}
