//! `partita table show TABLE`: its settings and access policies.

use super::next_name;
use super::set::ttl_text;
use crate::args::ConnectionArgs;
use crate::args::connection::Connection;
use crate::error::{CommandError, Outcome};
use crate::output::{Output, OutputArgs, Shape};
use crate::progress::{Progress, message};
use partita_client::{AccessPolicy, Filter, TableServiceClient, ValueRef};
use std::fmt::Write as _;

#[derive(clap::Args)]
#[command(about = "Show a table and its access policies")]
pub(crate) struct ShowCommand {
    /// Table name
    #[arg(value_name = "TABLE")]
    table: String,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    connection: ConnectionArgs,
}

impl ShowCommand {
    pub(super) async fn run(self) -> Result<Outcome, CommandError> {
        let connection = Connection::new(&self.connection)?;
        let progress = Progress::new(&connection);
        let name = &self.table;
        let Some(exact) = exact_name(&connection.service, name).await? else {
            message(&format!("there is no table {name}"));
            progress.finish("0 tables");
            return Ok(Outcome::NothingFound);
        };
        let mut fields = vec![("TableName".to_owned(), exact)];
        let table = connection.service.table_client(name);
        match table.settings().await {
            Ok(Some(settings)) => {
                fields.push(("Created".to_owned(), settings.created.to_string()));
                fields.push(("TimeToLive".to_owned(), ttl_text(settings.ttl)));
            }
            // Not Partita, or a signature that may not read them.
            Ok(None) => {}
            Err(error) if error.status() == Some(403) => {}
            Err(error) => return Err(error.into()),
        }
        match table.get_access_policy().await {
            Ok(policies) => {
                for (identifier, number) in policies.iter().zip(1..) {
                    let text = policy_text(&identifier.id, &identifier.policy);
                    fields.push((format!("Policy{number}"), text));
                }
            }
            // Only a shared key may read policies.
            Err(error) if error.status() == Some(403) => {
                message("access policies are not shown: they need an account key");
            }
            Err(error) => return Err(error.into()),
        }
        let mut output = Output::stdout(self.output, Shape::Single, None);
        let record = fields
            .iter()
            .map(|(name, text)| (&**name, ValueRef::String(text)));
        output.record(&record.collect::<Vec<_>>())?;
        output.finish()?;
        progress.finish("1 table");
        Ok(Outcome::Done)
    }
}

fn policy_text(id: &str, policy: &AccessPolicy) -> String {
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

/// The name in the case in which the table was created: table names ignore case, filters on them do not.
async fn exact_name(
    service: &TableServiceClient,
    name: &str,
) -> Result<Option<String>, CommandError> {
    let mut by_name = service.query_tables(Filter::property("TableName").eq(name));
    if let Some(found) = next_name(&mut by_name).await.transpose()? {
        return Ok(Some(found));
    }
    let mut all = service.list_tables();
    while let Some(other) = next_name(&mut all).await.transpose()? {
        if other.eq_ignore_ascii_case(name) {
            return Ok(Some(other));
        }
    }
    Ok(None)
}
