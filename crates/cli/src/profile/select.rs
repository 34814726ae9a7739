//! `partita profile use NAME`: the profile of commands that name no account.

use super::ProfilesFile;
use crate::prelude::*;

/// Choose the profile of commands that name no account
#[derive(clap::Args)]
#[command(
    after_help = "Flags, --profile, PARTITA_PROFILE and AZURE_STORAGE_CONNECTION_STRING override this profile."
)]
pub(crate) struct UseCommand {
    /// Name of the profile
    #[arg(value_name = "NAME", required_unless_present = "none")]
    profile: Option<String>,
    /// Choose none: commands use the development account on this machine again
    #[arg(long, conflicts_with = "profile")]
    none: bool,
}

impl Command for UseCommand {
    fn run(self) -> CommandResult {
        let file = ProfilesFile::needed()?;
        let mut profiles = file.read()?;
        if let Some(name) = &self.profile {
            profiles.get(name, &file)?;
        }
        let end = match &self.profile {
            Some(name) => format!("{name} is the default profile"),
            None => "no profile is the default".to_owned(),
        };
        profiles.default = self.profile;
        file.write(&profiles)?;
        message(&end);
        Ok(Outcome::Done)
    }
}
