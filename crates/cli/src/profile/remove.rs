//! `partita profile remove NAME`: forgets an account and its key.

use super::ProfilesFile;
use crate::prelude::*;
use std::sync::Arc;

/// Remove a profile with its credential
#[derive(clap::Args)]
pub(crate) struct RemoveCommand {
    /// Name of the profile
    #[arg(value_name = "NAME")]
    profile: String,
    #[command(flatten)]
    confirm: ConfirmArgs,
}

impl Command for RemoveCommand {
    fn run(self) -> CommandResult {
        let file = ProfilesFile::needed()?;
        let mut profiles = file.read()?;
        let name = &self.profile;
        profiles.get(name, &file)?;
        let mut progress = Progress::new(&Arc::default());
        self.confirm
            .confirm(&format!("remove profile {name}"), &mut progress)?;
        profiles.profiles.remove(name);
        if profiles.default.as_ref() == Some(name) {
            profiles.default = None;
        }
        file.write(&profiles)?;
        message(&format!("profile {name} removed"));
        Ok(Outcome::Done)
    }
}
