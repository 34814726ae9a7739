//! A counter that many clients increase: each update requires the ETag that was read, so none is lost.
//!
//! `cargo run -p partita-client --example counter`, with a server on this machine, or with its connection string in
//! `CONNECTION_STRING`.
#![allow(clippy::print_stdout, reason = "an example prints its results")]

use futures::future::try_join_all;
use partita_client::{
    ETag, Entity, IfMatch, Result, TableClient, TableServiceClient, UnknownOutcome, UpdateMode,
};

/// Adds one to the counter and returns its new value.
async fn increase(table: &TableClient, name: &str) -> Result<i64> {
    loop {
        let written = match table.get_entity_if_exists("counters", name).await? {
            Some(mut row) => {
                let count = row.get("Count").and_then(|count| count.as_i64());
                let count = count.unwrap_or(0) + 1;
                row.insert("Count", count);
                let version = IfMatch::from(row.etag().unwrap_or(&ETag::from("*")));
                let updated = table.update_entity(&row, UpdateMode::Replace, &version);
                updated.await.map(|_| count)
            }
            None => {
                let mut row = Entity::new("counters", name);
                row.insert("Count", 1_i64);
                table.create_entity(&row).await.map(|_| 1)
            }
        };
        match written {
            // Another client was faster: read again.
            Err(error) if error.is_conflict() || error.is_precondition_failed() => {}
            written => return written,
        }
    }
}

/// Increases a counter by eight clients, ten times each, and returns its value.
pub(crate) async fn run(connection_string: &str) -> Result<i64> {
    let service = TableServiceClient::from_connection_string(connection_string)?;
    let table = service.create_table_if_not_exists("counters").await?;
    // Without the stamp, a lost answer would count twice: the retry gets 412 because of its own first attempt.
    let table = table.with_unknown_outcome(UnknownOutcome::WriteStamp);
    table.delete_entity_if_exists("counters", "visits").await?;
    let clients = (0..8).map(|_| async {
        let mut last = 0;
        for _ in 0..10 {
            last = increase(&table, "visits").await?;
        }
        Ok(last)
    });
    let last = try_join_all(clients).await?;
    Ok(last.into_iter().max().unwrap_or(0))
}

#[tokio::main]
async fn main() -> Result<()> {
    let text = std::env::var("CONNECTION_STRING");
    let text = text.unwrap_or("UseDevelopmentStorage=true".to_owned());
    println!("the counter is at {}", run(&text).await?);
    Ok(())
}
