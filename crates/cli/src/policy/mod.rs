//! Stored access policies of a table or a queue: the commands `policy list|set|remove` of both nouns.
//!
//! A shared access signature that names a policy gets its terms from it, so a changed or removed policy changes or
//! revokes signatures. The service replaces all policies of a resource at once: these commands read them, change one,
//! and write them back.
//!
//! A command is a verb ([`List`], [`Set`], [`Remove`]) and the noun's argument: a [`PolicyOwner`].

mod list;
mod remove;
mod set;

pub(crate) use list::List;
pub(crate) use remove::Remove;
pub(crate) use set::Set;

use crate::prelude::*;
use clap::Args;
use partita_client::{QueueClient, SignedIdentifier, TableClient};

/// The argument with the name of a table or a queue.
pub(crate) trait PolicyOwner: Args {
    /// The connection to its account.
    type Connection;
    type Client: HasPolicies;
    /// The letters of its permissions, with their meanings.
    const LETTERS: &'static [(char, &'static str)];
    fn client(&self, connection: &Self::Connection) -> Self::Client;
}

/// What a command does.
pub(crate) trait PolicyVerb: Args {
    async fn run(self, of: &impl HasPolicies, progress: Progress) -> CommandResult;
}

// No doc comment, as it would become the description of the commands. The description of the last field stays.
#[derive(Args)]
pub(crate) struct PolicyOf<O: PolicyOwner, V: PolicyVerb> {
    #[command(flatten)]
    of: O,
    #[command(flatten)]
    verb: V,
}

impl<O: PolicyOwner<Connection = Connection>, V: PolicyVerb> AccountCommand for PolicyOf<O, V> {
    async fn run(self, connection: Connection, progress: Progress) -> CommandResult {
        self.verb.run(&self.of.client(&connection), progress).await
    }
}

impl<O, V> QueueAccountCommand for PolicyOf<O, V>
where
    O: PolicyOwner<Connection = QueueConnection>,
    V: PolicyVerb,
{
    async fn run(self, connection: QueueConnection, progress: Progress) -> CommandResult {
        self.verb.run(&self.of.client(&connection), progress).await
    }
}

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
