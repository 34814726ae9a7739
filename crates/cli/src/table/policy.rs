//! `partita table policy list|set|remove`: the stored access policies of a table.

use crate::policy::{List, PolicyOf, PolicyOwner, Remove, Set};
use crate::prelude::*;
use crate::sas::TABLE;
use partita_client::TableClient;

commands! {
    pub(crate) enum PolicyCommand {
        List(OnAccount<PolicyOf<TableArg, List>>),
        Set(OnAccount<PolicyOf<TableArg, Set<TableArg>>>),
        Remove(OnAccount<PolicyOf<TableArg, Remove>>),
    }
}

// No doc comment, as it would become the description of the commands.
#[derive(clap::Args)]
pub(crate) struct TableArg {
    /// Table name
    table: String,
}

impl PolicyOwner for TableArg {
    type Connection = Connection;
    type Client = TableClient;
    const LETTERS: &'static [(char, &'static str)] = TABLE;

    fn client(&self, connection: &Connection) -> TableClient {
        connection.service.table_client(&self.table)
    }
}
