//! A client that scans the whole table in pages, over failures: rows are in order, and none that was not touched is
//! missing. Each page is also a read of every entity in its span.

use std::sync::Arc;

use anyhow::{Context, Error};
use partita_bench::client::{Request, Response};
use partita_bench::cluster::Connection;
use partita_load::history::{Keys, Register, ScanCheck, Value};

use super::entity::value;
use super::{Load, QUERY, STABLE_ROWS, lock};

/// One scan.
pub(super) fn step(load: &Load, connection: &mut Connection) -> anyhow::Result<()> {
    let top = 20 + connection.random.below(150);
    let mut token = String::new();
    let mut scan = ScanCheck::default();
    loop {
        let before: Vec<Arc<Register>> = lock(&load.entities.all).clone();
        let query = format!("$top={top}{token}");
        let request = Request {
            query: &query,
            ..Request::new("GET", QUERY)
        };
        let answer = connection.send_until_answered(&request, || load.is_over());
        let Some((start, answer)) = answer else {
            return Ok(());
        };
        let page = answer.expect(200).context("scanning")?;
        let rows = rows(&page)?;
        let next = page.next_page();
        scan.page(&before, rows, next.is_none(), start)
            .map_err(Error::msg)?;
        match next {
            Some(next) => token = format!("&{next}"),
            None => break,
        }
    }
    scan.end(STABLE_ROWS).map_err(Error::msg)
}

/// The rows of a page.
pub(in super::super) fn rows(page: &Response) -> anyhow::Result<Vec<(Keys, Value)>> {
    let rows = page.entities()?;
    let row = |row: &serde_json::Value| {
        let key = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
        Ok(((key("PartitionKey"), key("RowKey")), value(row)?))
    };
    rows.iter().map(row).collect()
}
