//! `partita table show TABLE`: its settings and access policies.

use super::set::ttl_text;
use crate::prelude::*;
use futures::TryStreamExt as _;
use partita_client::{AccessPolicy, Filter, TableServiceClient};
use std::fmt::Write as _;

/// Show a table and its access policies
#[derive(clap::Args)]
pub(crate) struct ShowCommand {
    /// Table name
    table: String,
    #[command(flatten)]
    output: OutputArgs,
}

impl AccountCommand for ShowCommand {
    async fn run(self, connection: Connection, progress: Progress) -> CommandResult {
        let name = &self.table;
        let Some(exact) = exact_name(&connection.service, name).await? else {
            message(&format!("table {name} does not exist"));
            return progress.finish("0 tables", Outcome::NothingFound);
        };
        let mut fields = vec![("TableName".to_owned(), exact)];
        let table = connection.service.table_client(name);
        match table.settings().await {
            Ok(Some(settings)) => {
                fields.push(("created".to_owned(), settings.created.to_string()));
                fields.push(("time_to_live".to_owned(), ttl_text(settings.ttl)));
            }
            // The settings are not shown: the server is not Partita, or the signature does not permit reading them.
            Ok(None) => {}
            Err(error) if error.status() == Some(403) => {}
            Err(error) => return Err(error.into()),
        }
        match table.get_access_policy().await {
            Ok(policies) => {
                for (identifier, number) in policies.iter().zip(1..) {
                    let text = policy_text(&identifier.id, &identifier.policy);
                    fields.push((format!("policy{number}"), text));
                }
            }
            // Reading policies needs a shared key.
            Err(error) if error.status() == Some(403) => {
                message("access policies are not shown: they need an account key");
            }
            Err(error) => return Err(error.into()),
        }
        let fields = fields
            .iter()
            .map(|(name, text)| (&**name, Field::text(text)));
        let fields: Vec<_> = fields.collect();
        self.output
            .write(Shape::Single, |output| output.record(&fields))?;
        progress.finish("1 table", Outcome::Done)
    }
}

pub(crate) fn policy_text(id: &str, policy: &AccessPolicy) -> String {
    let mut text = format!("{id}:");
    if let Some(letters) = &policy.permission {
        let _ = write!(text, " may {letters}");
    }
    if let Some(start) = policy.start {
        let _ = write!(text, " from {start}");
    }
    if let Some(expiry) = policy.expiry {
        let _ = write!(text, " until {expiry}");
    }
    text
}

/// The name in the case in which the table was created; `None` if the table does not exist. Table names ignore case,
/// but a filter on names does not, so all tables are listed if the filter finds none.
async fn exact_name(
    service: &TableServiceClient,
    name: &str,
) -> Result<Option<String>, CommandError> {
    let mut by_name = service.query_tables(Filter::property("TableName").eq(name));
    if let Some(found) = by_name.try_next().await? {
        return Ok(Some(found));
    }
    let mut all = service.list_tables();
    while let Some(other) = all.try_next().await? {
        if other.eq_ignore_ascii_case(name) {
            return Ok(Some(other));
        }
    }
    Ok(None)
}
