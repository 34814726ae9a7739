//! `partita table|queue policy list`.

use super::{HasPolicies, PolicyVerb, policies};
use crate::prelude::*;
use partita_client::{DateTime, SignedIdentifier};

/// List the stored access policies
#[derive(clap::Args)]
pub(crate) struct List {
    #[command(flatten)]
    output: OutputArgs,
}

impl PolicyVerb for List {
    async fn run(self, of: &impl HasPolicies, progress: Progress) -> CommandResult {
        let policies = policies(of).await?;
        self.output.write(Shape::Rows, |output| {
            policies.iter().try_for_each(|it| write_policy(it, output))
        })?;
        progress.finish_count(policies.len() as u64, "policy", "policies")
    }
}

fn write_policy(named: &SignedIdentifier, output: &mut Output) -> Result<(), CommandError> {
    let SignedIdentifier { id, policy } = named;
    let text =
        |time: Option<DateTime>| time.map_or_else(String::new, |time| time.text().to_string());
    let (start, expiry) = (text(policy.start), text(policy.expiry));
    let permissions = policy.permission.as_deref().unwrap_or_default();
    output.record(&[
        ("id", Field::text(id)),
        ("permissions", Field::text(permissions)),
        ("start", Field::text(&start)),
        ("expiry", Field::text(&expiry)),
    ])
}
