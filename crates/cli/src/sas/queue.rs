//! `partita sas queue QUEUE`: a signature for the messages of one queue.

use super::permissions::{QUEUE, ordered};
use super::{Opened, TermsArgs, signer};
use crate::args::QueueConnectionArgs;
use crate::prelude::*;
use partita_client::{QueueSasTerms, ServiceKind};
use partita_model::QueueName;

/// Make a shared access signature of a queue
#[derive(clap::Args)]
#[command(
    after_help = "No request is sent: the queue need not exist, and a stored policy is not looked up. Permissions and times are each in the signature or in its policy, not in both."
)]
pub(crate) struct QueueCommand {
    /// Queue name
    queue: String,
    /// Letters of r (read: peek), a (add), u (update), p (process: get and delete)
    #[arg(long, value_name = "LETTERS", value_parser = |text: &str| ordered(text, QUEUE), required_unless_present = "policy")]
    permissions: Option<String>,
    /// Stored access policy of the queue that has the other terms
    #[arg(long, value_name = "ID", alias = "policy-name")]
    policy: Option<String>,
    #[command(flatten)]
    terms: TermsArgs,
    #[command(flatten)]
    connection: QueueConnectionArgs,
}

impl Command for QueueCommand {
    fn run(self) -> CommandResult {
        let name = &self.queue;
        QueueName::new(name)
            .map_err(|error| CommandError::usage(format!("queue {name:?}: {error}")))?;
        let place = self.connection.place()?;
        let (account, key) = signer(&place)?;
        let terms = QueueSasTerms {
            queue: name.clone(),
            permissions: self.permissions.unwrap_or_default(),
            terms: self.terms.terms(self.policy.as_deref())?,
            policy_id: self.policy,
        };
        let opened = Opened::new(&place, ServiceKind::Queue, name);
        self.terms.print(&terms.sign(account, key), &[opened])
    }
}
