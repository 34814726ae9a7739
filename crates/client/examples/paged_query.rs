//! A query by pages that a later run of the program resumes.
//!
//! `cargo run -p partita-client --example paged_query`, with a server on this machine, or with its connection string in
//! `CONNECTION_STRING`.
#![allow(clippy::print_stdout, reason = "an example prints its results")]

use futures::TryStreamExt as _;
use partita_client::{
    Continuation, Entity, Filter, QueryOptions, TableServiceClient, TransactionAction, UpdateMode,
};
use std::error::Error;

/// Reads the first page of a query, forgets everything but its continuation, and reads the rest. Returns the number of
/// rows on each page.
pub(crate) async fn run(connection_string: &str) -> Result<Vec<usize>, Box<dyn Error>> {
    let service = TableServiceClient::from_connection_string(connection_string)?;
    let table = service.create_table_if_not_exists("readings").await?;
    let rows = (0..50).map(|number| {
        let mut row = Entity::new("sensor-1", format!("{number:06}"));
        row.insert("Celsius", f64::from(number) / 2.0);
        TransactionAction::Upsert(row, UpdateMode::Replace)
    });
    let rows: Vec<_> = rows.collect();
    table.submit_transaction(&rows).await?;

    let warm = Filter::pk()
        .eq("sensor-1")
        .and(Filter::property("Celsius").ge(10.0));
    let query = QueryOptions::new().filter(warm).page_size(8);
    let first = table.query_page(&query, None).await?;
    let mut counts = vec![first.entities()?.len()];

    // The text can be kept in a file, or in a link of a web page.
    let kept = first
        .continuation()
        .map(ToString::to_string)
        .unwrap_or_default();
    let from: Continuation = kept.parse()?;
    let mut pages = table.query_entities(query.from(from)).by_page();
    while let Some(page) = pages.try_next().await? {
        counts.push(page.entities()?.len());
    }
    Ok(counts)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let text = std::env::var("CONNECTION_STRING");
    let text = text.unwrap_or("UseDevelopmentStorage=true".to_owned());
    println!("rows on each page: {:?}", run(&text).await?);
    Ok(())
}
