//! The connection of the second table, for commands that work on two.

use super::ConnectionArgs;
use super::connection::Connection;
use super::place::{Environment, PlaceFlags};
use crate::error::CommandError;
use partita_client::ServiceKind;

/// Where the second table is. Without any of these flags and without the variable, it is in the account of the first.
#[derive(clap::Args)]
#[command(next_help_heading = "Connection of the second table, if it is in another account")]
pub(crate) struct DestinationArgs {
    /// Profile of the account, from `partita profile add`
    #[arg(long, value_name = "NAME", conflicts_with_all = ["to_connection_string", "to_endpoint", "to_account", "to_key", "to_sas"])]
    to_profile: Option<String>,
    /// Connection string [env: AZURE_STORAGE_CONNECTION_STRING_TO] [default: the same account]
    #[arg(long, value_name = "STRING", conflicts_with_all = ["to_endpoint", "to_account", "to_key", "to_sas"])]
    to_connection_string: Option<String>,
    /// URL of the table endpoint, such as http://127.0.0.1:10002/devstoreaccount1
    #[arg(long, value_name = "URL")]
    to_endpoint: Option<String>,
    /// Account name. Without --to-endpoint, the account is in Azure; devstoreaccount1 is on this machine
    #[arg(long, value_name = "NAME")]
    to_account: Option<String>,
    /// Account key, Base64
    #[arg(long, value_name = "KEY", conflicts_with = "to_sas")]
    to_key: Option<String>,
    /// Shared access signature, instead of a key
    #[arg(long, value_name = "QUERY")]
    to_sas: Option<String>,
}

impl DestinationArgs {
    /// The connection of the second table. Its requests are counted with those of the first.
    pub(crate) fn open(
        &self,
        args: &ConnectionArgs,
        first: &Connection,
    ) -> Result<Connection, CommandError> {
        match self.place_flags().place(&Environment::of_second())? {
            Some(place) => Connection::open(place, args, &first.traffic, |_| {}),
            None => Ok(first.clone()),
        }
    }

    pub(super) fn place_flags(&self) -> PlaceFlags<'_> {
        PlaceFlags {
            service: ServiceKind::Table,
            prefix: "to-",
            profile: self.to_profile.as_deref(),
            string: self.to_connection_string.as_deref(),
            endpoint: self.to_endpoint.as_deref(),
            account: self.to_account.as_deref(),
            key: self.to_key.as_deref(),
            sas: self.to_sas.as_deref(),
        }
    }
}
