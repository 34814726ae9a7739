//! A lock between processes: a row that only one client can insert.
//!
//! `cargo run -p partita-client --example lock`, with a server on this machine, or with its connection string in
//! `CONNECTION_STRING`.
#![allow(clippy::print_stdout, reason = "an example prints its results")]

use partita_client::{
    Entity, IfMatch, Outcome, Result, TableClient, TableServiceClient, UnknownOutcome,
};

/// A lock that this client holds.
struct Lock {
    table: TableClient,
    name: String,
    version: IfMatch,
}

impl Lock {
    /// Takes the lock; `None` if another client holds it.
    async fn take(table: &TableClient, name: &str, owner: &str) -> Result<Option<Self>> {
        // If the answer to the insert is lost, the client retries it and gets 409, as if another client held the lock.
        // The stamp shows whether the row in the table is of this insert.
        let table = table
            .clone()
            .with_unknown_outcome(UnknownOutcome::WriteStamp);
        let mut row = Entity::new("locks", name);
        row.insert("Owner", owner);
        match table.create_entity(&row).await {
            Ok(etag) => Ok(Some(Self {
                table,
                name: name.to_owned(),
                version: etag.into(),
            })),
            Err(error) if error.is_conflict() && error.outcome() == Outcome::DidNotHappen => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Gives the lock back. The ETag makes sure that only the own row is deleted.
    async fn give_back(self) -> Result<()> {
        let deleted = self.table.delete_entity("locks", &self.name, &self.version);
        match deleted.await {
            // An earlier attempt deleted it.
            Err(error) if error.is_not_found() && error.outcome() == Outcome::MayHaveHappened => {
                Ok(())
            }
            deleted => deleted,
        }
    }
}

/// Takes a lock, fails to take it a second time, and gives it back.
pub(crate) async fn run(connection_string: &str) -> Result<Vec<String>> {
    let service = TableServiceClient::from_connection_string(connection_string)?;
    let table = service.create_table_if_not_exists("locks").await?;
    let mut report = Vec::new();
    let first = Lock::take(&table, "nightly", "a").await?;
    report.push(format!("a has the lock: {}", first.is_some()));
    let second = Lock::take(&table, "nightly", "b").await?;
    report.push(format!("b has the lock: {}", second.is_some()));
    if let Some(lock) = first {
        lock.give_back().await?;
    }
    let third = Lock::take(&table, "nightly", "b").await?;
    report.push(format!("b has the lock: {}", third.is_some()));
    if let Some(lock) = third {
        lock.give_back().await?;
    }
    Ok(report)
}

#[tokio::main]
async fn main() -> Result<()> {
    let text = std::env::var("CONNECTION_STRING");
    let text = text.unwrap_or("UseDevelopmentStorage=true".to_owned());
    for line in run(&text).await? {
        println!("{line}");
    }
    Ok(())
}
