//! `partita profile show NAME`: one profile, without its key.

use super::{ProfileView, ProfilesFile, secrets};
use crate::prelude::*;

/// Show a profile
#[derive(clap::Args)]
pub(crate) struct ShowCommand {
    /// Name of the profile
    #[arg(value_name = "NAME")]
    profile: String,
    /// Print its key, signature or connection string too
    #[arg(long)]
    show_keys: bool,
    #[command(flatten)]
    output: OutputArgs,
}

impl Command for ShowCommand {
    fn run(self) -> CommandResult {
        let file = ProfilesFile::needed()?;
        let profiles = file.read()?;
        let profile = profiles.get(&self.profile, &file)?;
        let view = ProfileView::of(profile);
        let is_default = profiles.default.as_ref() == Some(&self.profile);
        let mut fields = view.fields(&self.profile, is_default);
        if self.show_keys {
            fields.extend(secrets(profile));
        }
        self.output
            .write(Shape::Single, |output| output.record(&fields))?;
        Ok(Outcome::Done)
    }
}
