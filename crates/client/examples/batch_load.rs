//! Loads many rows by transactions of 100, eight at a time, and shows the progress.
//!
//! `cargo run -p partita-client --example batch_load`, with a server on this machine, or with its connection string in
//! `CONNECTION_STRING`.
#![allow(clippy::print_stdout, reason = "an example prints its results")]

use futures::{StreamExt as _, TryStreamExt as _, stream};
use partita_client::{Entity, Result, TableServiceClient, TransactionAction, UpdateMode};

/// Partitions to load. All rows of a transaction are in one partition.
const PARTITIONS: usize = 20;
/// Rows in each partition.
const ROWS: usize = 250;
/// The most rows of a transaction.
const BATCH: usize = 100;
/// Transactions at a time.
const CONCURRENT: usize = 8;

/// Loads the rows and returns their number. Calls `progress` with the number of rows so far.
pub(crate) async fn run(connection_string: &str, mut progress: impl FnMut(usize)) -> Result<usize> {
    let service = TableServiceClient::from_connection_string(connection_string)?;
    let table = service.create_table_if_not_exists("loaded").await?;
    // Upserts, so that a load that failed can begin again, and a retry has no effect of its own.
    let row = |partition: usize, row: usize| {
        let mut entity = Entity::new(format!("p{partition:03}"), format!("{row:06}"));
        entity.insert("Number", i64::try_from(row).unwrap_or(i64::MAX));
        TransactionAction::Upsert(entity, UpdateMode::Replace)
    };
    let batches = (0..PARTITIONS).flat_map(|partition| {
        let starts = (0..ROWS).step_by(BATCH);
        starts.map(move |start| (partition, start..ROWS.min(start + BATCH)))
    });
    let loads = batches.map(|(partition, rows)| {
        let table = &table;
        async move {
            let actions: Vec<_> = rows.map(|number| row(partition, number)).collect();
            table.submit_transaction(&actions).await?;
            Ok::<_, partita_client::Error>(actions.len())
        }
    });
    let mut loads = stream::iter(loads).buffer_unordered(CONCURRENT);
    let mut done = 0;
    while let Some(rows) = loads.try_next().await? {
        done += rows;
        progress(done);
    }
    Ok(done)
}

#[tokio::main]
async fn main() -> Result<()> {
    let text = std::env::var("CONNECTION_STRING");
    let text = text.unwrap_or("UseDevelopmentStorage=true".to_owned());
    let progress = |done| println!("{done} of {} rows", PARTITIONS * ROWS);
    run(&text, progress).await?;
    Ok(())
}
