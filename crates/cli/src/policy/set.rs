//! `partita table|queue policy set`.

use super::{HasPolicies, PolicyOwner, PolicyVerb, policies};
use crate::args::ValidityArgs;
use crate::prelude::*;
use crate::sas::{legend, ordered};
use partita_client::{AccessPolicy, SignedIdentifier};
use partita_model::limits::POLICIES_MAX;
use std::marker::PhantomData;

/// The maximum length of a policy's name, in characters.
const ID_CHARS_MAX: usize = 64;

/// Add or replace a stored access policy
#[derive(clap::Args)]
#[command(
    after_help = "A table or a queue has at most five. A term that is missing here can be in the signature. In Azure a change takes up to 30s."
)]
pub(crate) struct Set<O: PolicyOwner> {
    /// Id of the policy, which signatures name
    #[arg(value_name = "ID", value_parser = policy_id)]
    id: String,
    #[command(flatten)]
    validity: ValidityArgs,
    #[arg(
        long,
        value_name = "LETTERS",
        value_parser = letters(O::LETTERS),
        help = format!("Letters of {}", legend(O::LETTERS))
    )]
    permissions: Option<String>,
    #[arg(skip)]
    owner: PhantomData<O>,
}

/// Checks the id of a policy.
fn policy_id(text: &str) -> Result<String, String> {
    if text.is_empty() || text.chars().count() > ID_CHARS_MAX {
        return Err(format!("an id has 1 to {ID_CHARS_MAX} characters"));
    }
    Ok(text.to_owned())
}

/// A parser of the letters of permissions.
fn letters(
    known: &'static [(char, &'static str)],
) -> impl Fn(&str) -> Result<String, String> + Clone + Send + Sync + 'static {
    move |text| ordered(text, known)
}

impl<O: PolicyOwner> PolicyVerb for Set<O> {
    /// Adds the policy, or replaces the one with its id.
    async fn run(self, of: &impl HasPolicies, progress: Progress) -> CommandResult {
        let (start, expiry) = self.validity.times(partita_client::now())?;
        let new = SignedIdentifier {
            id: self.id.clone(),
            policy: AccessPolicy {
                start,
                expiry,
                permission: self.permissions,
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
