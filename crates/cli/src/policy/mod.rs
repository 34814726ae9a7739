//! Stored access policies of a table or a queue: the commands `policy list|set|remove` of both nouns.
//!
//! A shared access signature that names a policy gets its terms from it, so a changed or removed policy changes or
//! revokes signatures. The service replaces all policies of a resource at once: these commands read them, change one,
//! and write them back.

use crate::args::ValidityArgs;
use crate::prelude::*;
use crate::sas::ordered;
use partita_client::{AccessPolicy, DateTime, QueueClient, SignedIdentifier, TableClient};
use partita_model::limits::POLICIES_MAX;

/// The maximum length of a policy's name, in characters.
const ID_CHARS_MAX: usize = 64;

/// A table or a queue, which has policies.
pub(crate) trait HasPolicies {
    /// What it is and its name, for messages.
    fn title(&self) -> String;
    async fn policies(&self) -> partita_client::Result<Vec<SignedIdentifier>>;
    async fn set_policies(&self, policies: &[SignedIdentifier]) -> partita_client::Result<()>;
}

impl HasPolicies for TableClient {
    fn title(&self) -> String {
        format!("table {}", self.name())
    }

    async fn policies(&self) -> partita_client::Result<Vec<SignedIdentifier>> {
        self.get_access_policy().await
    }

    async fn set_policies(&self, policies: &[SignedIdentifier]) -> partita_client::Result<()> {
        self.set_access_policy(policies).await
    }
}

impl HasPolicies for QueueClient {
    fn title(&self) -> String {
        format!("queue {}", self.name())
    }

    async fn policies(&self) -> partita_client::Result<Vec<SignedIdentifier>> {
        self.get_access_policy().await
    }

    async fn set_policies(&self, policies: &[SignedIdentifier]) -> partita_client::Result<()> {
        self.set_access_policy(policies).await
    }
}

/// The policies of a resource, or what to do if it does not exist or the credential may not read them.
async fn policies(of: &impl HasPolicies) -> Result<Vec<SignedIdentifier>, CommandError> {
    let title = of.title();
    of.policies().await.map_err(|error| {
        let what = match error.status() {
            Some(404) => format!("{title} does not exist"),
            Some(403) => format!("stored policies of {title} need an account key"),
            _ => return error.into(),
        };
        let source = error.into();
        CommandError::Because { what, source }
    })
}

/// Prints all policies.
pub(crate) async fn list(
    of: &impl HasPolicies,
    output: OutputArgs,
    progress: Progress,
) -> CommandResult {
    let policies = policies(of).await?;
    let mut found = 0;
    output.write(Shape::Rows, |output| {
        for SignedIdentifier { id, policy } in &policies {
            let text = |time: Option<DateTime>| {
                time.map_or_else(String::new, |time| time.text().to_string())
            };
            let (start, expiry) = (text(policy.start), text(policy.expiry));
            let permissions = policy.permission.as_deref().unwrap_or_default();
            output.record(&[
                ("id", Field::text(id)),
                ("permissions", Field::text(permissions)),
                ("start", Field::text(&start)),
                ("expiry", Field::text(&expiry)),
            ])?;
            found += 1;
        }
        Ok(())
    })?;
    progress.finish_count(found, "policy", "policies")
}

/// The terms of a new policy.
#[derive(Debug, clap::Args)]
pub(crate) struct SetArgs {
    /// Id of the policy, which signatures name
    #[arg(value_name = "ID", value_parser = policy_id)]
    id: String,
    #[command(flatten)]
    validity: ValidityArgs,
}

/// Checks the id of a policy.
fn policy_id(text: &str) -> Result<String, String> {
    if text.is_empty() || text.chars().count() > ID_CHARS_MAX {
        return Err(format!("an id has 1 to {ID_CHARS_MAX} characters"));
    }
    Ok(text.to_owned())
}

impl SetArgs {
    /// Adds the policy, or replaces the one with its id.
    pub(crate) async fn run(
        &self,
        of: &impl HasPolicies,
        permissions: Option<&str>,
        progress: Progress,
    ) -> CommandResult {
        let (start, expiry) = self.validity.times(partita_client::now())?;
        let new = SignedIdentifier {
            id: self.id.clone(),
            policy: AccessPolicy {
                start,
                expiry,
                permission: permissions.map(str::to_owned),
            },
        };
        let (id, title) = (&self.id, of.title());
        let mut all = policies(of).await?;
        let is_replaced = insert(&mut all, new).map_err(|ids| {
            CommandError::usage(format!(
                "{title} has {POLICIES_MAX} policies already, the most that the service stores: {ids}; remove one first"
            ))
        })?;
        of.set_policies(&all).await?;
        let verb = if is_replaced { "replaced" } else { "added" };
        progress.finish(&format!("policy {id} of {title} {verb}"), Outcome::Done)
    }
}

/// Inserts a policy; returns whether it replaced one. Fails with the ids of all if there are too many.
fn insert(all: &mut Vec<SignedIdentifier>, new: SignedIdentifier) -> Result<bool, String> {
    if let Some(old) = all.iter_mut().find(|old| old.id == new.id) {
        *old = new;
        return Ok(true);
    }
    if all.len() >= POLICIES_MAX {
        let ids: Vec<&str> = all.iter().map(|policy| policy.id.as_str()).collect();
        return Err(ids.join(", "));
    }
    all.push(new);
    Ok(false)
}

/// Which policies are removed.
#[derive(Debug, clap::Args)]
pub(crate) struct RemoveArgs {
    /// Id of the policy
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    confirm: ConfirmArgs,
}

impl RemoveArgs {
    /// Removes the policy.
    pub(crate) async fn run(&self, of: &impl HasPolicies, mut progress: Progress) -> CommandResult {
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

/// A parser of the letters of permissions.
pub(crate) fn letters(
    known: &'static [(char, &'static str)],
) -> impl Fn(&str) -> Result<String, String> + Clone + Send + Sync + 'static {
    move |text| ordered(text, known)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(id: &str, letters: &str) -> SignedIdentifier {
        SignedIdentifier {
            id: id.to_owned(),
            policy: AccessPolicy {
                permission: Some(letters.to_owned()),
                ..AccessPolicy::default()
            },
        }
    }

    #[test]
    fn a_policy_replaces_its_id_and_there_are_at_most_five() {
        let mut all = Vec::new();
        for id in ["a", "b", "c", "d", "e"] {
            assert_eq!(insert(&mut all, policy(id, "r")), Ok(false));
        }
        assert_eq!(insert(&mut all, policy("b", "ra")), Ok(true));
        assert_eq!(all[1], policy("b", "ra"));
        let refused = insert(&mut all, policy("f", "r"));
        assert_eq!(refused, Err("a, b, c, d, e".to_owned()));
        assert_eq!(all.len(), 5);
        assert!(policy_id("").is_err() && policy_id(&"x".repeat(65)).is_err());
    }
}
