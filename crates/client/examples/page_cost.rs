//! Measures the cost to decode a page of 1,000 entities of 1 KiB: as entities, as structs, and as borrowed rows.
//!
//! `cargo run --release -p partita-client --example page_cost`
#![allow(clippy::print_stdout, reason = "a benchmark prints its results")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use partita_client::{DateTime, Entity, Guid, PageReader, Value};
use serde::{Deserialize, Serialize};

const ROWS: usize = 1_000;
/// Duration of each measurement, long enough for a stable result on a busy machine.
const TIME: Duration = Duration::from_secs(2);

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Row {
    partition_key: String,
    row_key: String,
    name: String,
    body: String,
    count: i32,
    total: i64,
    share: f64,
    open: bool,
    at: DateTime,
    id: Guid,
    code: String,
    note: String,
}

/// A page with minimal metadata.
fn page() -> String {
    let rows = (0..ROWS).map(|row| {
        format!(
            "{{\"odata.etag\":\"W/\\\"datetime'2024-01-02T03%3A04%3A05.{row:07}Z'\\\"\",\"PartitionKey\":\"p{:04}\",\
             \"RowKey\":\"r{row:09}\",\"Timestamp\":\"2024-01-02T03:04:05.{row:07}Z\",\"Name\":\"Miles {row}\",\
             \"Body\":\"{}\",\"Count\":{row},\"Total@odata.type\":\"Edm.Int64\",\"Total\":\"{}\",\"Share\":{row}.25,\
             \"Open\":true,\"At@odata.type\":\"Edm.DateTime\",\"At\":\"2024-01-02T03:04:05.1234567Z\",\
             \"Id@odata.type\":\"Edm.Guid\",\"Id\":\"c9da6455-213d-42c9-9a79-3e9149a57833\",\"Code\":\"AB-{row}\",\
             \"Note\":\"a short note\"}}",
            row / 10,
            "x".repeat(700),
            row as u64 * 1_000_000_007,
        )
    });
    let rows: Vec<String> = rows.collect();
    format!(
        "{{\"odata.metadata\":\"http://h/a/$metadata#T\",\"value\":[{}]}}",
        rows.join(",")
    )
}

fn measure(what: &str, body: &str, mut decode: impl FnMut(&[u8]) -> usize) {
    let (begun, mut pages) = (Instant::now(), 0_usize);
    while begun.elapsed() < TIME {
        assert_eq!(decode(black_box(body.as_bytes())), ROWS);
        pages += 1;
    }
    let seconds = begun.elapsed().as_secs_f64() / pages as f64;
    let megabytes = body.len() as f64 / 1e6;
    println!(
        "{what:<12} {:>9.0} entities/s {:>7.0} MB/s {:>6.2} µs an entity",
        ROWS as f64 / seconds,
        megabytes / seconds,
        seconds * 1e6 / ROWS as f64,
    );
}

fn main() {
    let body = page();
    println!("{ROWS} entities, {} bytes", body.len());
    measure("Entity", &body, |body| {
        Entity::read_page(body).map_or(0, |entities| entities.len())
    });
    measure("struct", &body, |body| {
        let entities = Entity::read_page(body).unwrap_or_default().into_iter();
        entities
            .filter_map(|entity| entity.into_typed::<Row>().ok())
            .count()
    });
    measure("rows, values", &body, |body| {
        rows(body, |row| {
            let mut sum = 0;
            let read = row
                .properties(|_, _, value| sum += usize::from(value.to_value() != Value::Int32(-1)));
            read.is_ok() && sum == 10
        })
    });
    measure("rows, keys", &body, |body| {
        rows(body, |row| {
            matches!(
                (row.partition_key(), row.row_key()),
                (Ok(Some(_)), Ok(Some(_)))
            )
        })
    });
}

fn rows(body: &[u8], read: impl Fn(partita_client::RowReader<'_, '_>) -> bool) -> usize {
    let Ok(mut page) = PageReader::new(body) else {
        return 0;
    };
    let mut count = 0;
    while let Ok(Some(row)) = page.next_row() {
        count += usize::from(read(row));
    }
    count
}
