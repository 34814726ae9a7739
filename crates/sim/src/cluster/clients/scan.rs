//! A client that scans the whole table in pages, over failures: rows are in order, and none that was not touched is
//! missing. Each page is also a read of every entity in its span.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, Error};
use partita_load::history::{Keys, Register, ScanCheck, Value};

use super::entity::value;
use super::{Answered, Connection, Load, STABLE_ROWS, TABLE};
use crate::workload::protocol::{TableRequest, page};

/// One scan.
pub(super) async fn step(load: &Load, connection: &mut Connection) -> anyhow::Result<()> {
    let top = connection.random.u64(10..120);
    let mut token = String::new();
    let mut scan = ScanCheck::default();
    loop {
        let before: Vec<Arc<Register>> = load.entities.all.borrow().clone();
        let request = TableRequest {
            query: format!("$top={top}&{token}"),
            ..TableRequest::new("GET", format!("/{TABLE}()"))
        };
        let start = Instant::now();
        let answer = match connection.send(&request).await? {
            Answered::Got(answer) => answer,
            // The last scan ends with the other clients.
            _ if load.is_over() => return Ok(()),
            _ => continue,
        };
        answer.expect(200).context("scanning")?;
        let page = page(TABLE, &answer)?;
        let rows = page.rows.into_iter().map(|(key, row)| {
            let keys = (key.partition, key.row);
            Ok((keys, value(&row)?))
        });
        let rows = rows.collect::<anyhow::Result<Vec<(Keys, Value)>>>()?;
        scan.page(&before, rows, page.next.is_none(), start)
            .map_err(Error::msg)?;
        match page.next {
            Some(next) => token = next,
            None => break,
        }
    }
    scan.end(STABLE_ROWS).map_err(Error::msg)?;
    load.work.borrow_mut().scans += 1;
    Ok(())
}
