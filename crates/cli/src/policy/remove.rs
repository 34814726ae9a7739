//! `partita table|queue policy remove`.

use super::{HasPolicies, PolicyVerb, policies};
use crate::prelude::*;

/// Remove a stored access policy, which revokes its signatures
#[derive(clap::Args)]
pub(crate) struct Remove {
    /// Id of the policy
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    confirm: ConfirmArgs,
}

impl PolicyVerb for Remove {
    /// Removes the policy.
    async fn run(self, of: &impl HasPolicies, mut progress: Progress) -> CommandResult {
        let (id, title) = (&self.id, of.title());
        let mut all = policies(of).await?;
        let before = all.len();
        all.retain(|policy| policy.id != *id);
        if all.len() == before {
            message(&format!("{title} has no policy {id}"));
            return progress.finish("0 policies removed", Outcome::NothingFound);
        }
        let question = format!("remove policy {id} of {title}, which revokes its signatures");
        self.confirm.confirm(&question, &mut progress)?;
        of.set_policies(&all).await?;
        progress.finish(&format!("policy {id} of {title} removed"), Outcome::Done)
    }
}
