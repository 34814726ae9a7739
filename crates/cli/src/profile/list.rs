//! `partita profile list`: all profiles, without their keys.

use super::{ProfileView, ProfilesFile, secrets};
use crate::prelude::*;

/// List the profiles
#[derive(clap::Args)]
pub(crate) struct ListCommand {
    /// Print keys, signatures and connection strings too
    #[arg(long)]
    show_keys: bool,
    #[command(flatten)]
    output: OutputArgs,
}

impl Command for ListCommand {
    fn run(self) -> CommandResult {
        let file = ProfilesFile::needed()?;
        let profiles = file.read()?;
        self.output.write(Shape::Rows, |output| {
            for (name, profile) in &profiles.profiles {
                let is_default = profiles.default.as_ref() == Some(name);
                let view = ProfileView::of(profile);
                let mut fields = view.fields(name, is_default);
                if self.show_keys {
                    fields.extend(secrets(profile));
                }
                output.record(&fields)?;
            }
            Ok(())
        })?;
        let found = profiles.profiles.len() as u64;
        let path = file.path.display();
        message(&format!("{} in {path}", many(found, "profile", "profiles")));
        Ok(Outcome::of_count(found))
    }
}
