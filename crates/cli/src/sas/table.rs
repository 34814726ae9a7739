//! `partita sas table TABLE`: a signature for the entities of one table.

use super::permissions::{TABLE, ordered};
use super::{Opened, TermsArgs, signer};
use crate::args::ConnectionArgs;
use crate::prelude::*;
use partita_client::{EntityPosition, ServiceKind, TableSasTerms};
use partita_model::{EntityRange, TableName, check_key};

/// Make a shared access signature of a table
#[derive(clap::Args)]
#[command(
    after_help = "The keys of the range are included. No request is sent: the table need not exist, and a stored policy is not looked up. Permissions and times are each in the signature or in its policy, not in both."
)]
pub(crate) struct TableCommand {
    /// Table name
    table: String,
    /// Letters of r (read), a (add), u (update), d (delete)
    #[arg(long, value_name = "LETTERS", value_parser = |text: &str| ordered(text, TABLE), required_unless_present = "policy")]
    permissions: Option<String>,
    /// Stored access policy of the table that has the other terms
    #[arg(long, value_name = "ID", alias = "policy-name")]
    policy: Option<String>,
    /// First PartitionKey
    #[arg(long, value_name = "KEY", value_parser = bound, help_heading = "Key range")]
    start_pk: Option<String>,
    /// First RowKey in the first partition
    #[arg(long, value_name = "KEY", value_parser = bound, requires = "start_pk", help_heading = "Key range")]
    start_rk: Option<String>,
    /// Last PartitionKey
    #[arg(long, value_name = "KEY", value_parser = bound, help_heading = "Key range")]
    end_pk: Option<String>,
    /// Last RowKey in the last partition
    #[arg(long, value_name = "KEY", value_parser = bound, requires = "end_pk", help_heading = "Key range")]
    end_rk: Option<String>,
    #[command(flatten)]
    terms: TermsArgs,
    #[command(flatten)]
    connection: ConnectionArgs,
}

/// Checks a key that bounds the range. The service takes an empty one for none.
fn bound(text: &str) -> Result<String, String> {
    if text.is_empty() {
        return Err("an empty key is not a bound; omit the flag".to_owned());
    }
    check_key(text).map_err(|error| error.to_string())?;
    Ok(text.to_owned())
}

fn position(partition_key: Option<String>, row_key: Option<String>) -> Option<EntityPosition> {
    let partition_key = partition_key?;
    Some(EntityPosition {
        partition_key,
        row_key,
    })
}

impl Command for TableCommand {
    fn run(self) -> CommandResult {
        let name = &self.table;
        TableName::check(name)
            .map_err(|error| CommandError::usage(format!("table {name:?}: {error}")))?;
        let low = position(self.start_pk, self.start_rk);
        let high = position(self.end_pk, self.end_rk);
        if EntityRange::inclusive(low.clone(), high.clone()).is_empty() {
            return Err(CommandError::usage(
                "the key range is empty: its first key is after its last",
            ));
        }
        let place = self.connection.place(ServiceKind::Table)?;
        let (account, key) = signer(&place)?;
        let terms = TableSasTerms {
            table: name.clone(),
            low,
            high,
            permissions: self.permissions.unwrap_or_default(),
            terms: self.terms.terms(self.policy.as_deref())?,
            policy_id: self.policy,
        };
        let opened = Opened::new(&place, ServiceKind::Table, name);
        self.terms.print(&terms.sign(account, key), &[opened])
    }
}
