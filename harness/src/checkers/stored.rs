//! Reads the stored rows.

use std::fmt;

use anyhow::{Context, bail, ensure};
use partita_bench::client::Client;
use serde_json::Value;

use super::TABLE;
use super::model::{Key, Row, Rows, WriteId, write_id_of};

/// An answer with a status from 500 on.
#[derive(Debug)]
pub(crate) struct ServerError(String);

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ServerError {}

impl ServerError {
    /// Whether the answer has a reason that `ARCHITECTURE.md` documents for a failed read.
    pub(crate) fn is_documented(&self) -> bool {
        is_documented(&self.0)
    }
}

/// Whether an answer names a documented reason: not executed, unknown outcome, or damaged or unreadable data.
pub(crate) fn is_documented(text: &str) -> bool {
    ["ServerBusy", "OperationTimedOut", "InternalError"]
        .iter()
        .any(|code| text.contains(code))
}

/// Every row of the table, by a scan over all pages.
pub(crate) fn scan(client: &mut Client) -> anyhow::Result<Rows> {
    let mut rows = Rows::new();
    client.pages(&format!("/{TABLE}()"), "$top=1000", |page| {
        for entity in page.entities()? {
            let (key, row) = parse(&entity)?;
            if rows.insert(key.clone(), row).is_some() {
                bail!("the scan returned {key:?} twice");
            }
        }
        Ok(())
    })?;
    Ok(rows)
}

/// One row, by its keys.
pub(crate) fn get(client: &mut Client, key: &Key) -> anyhow::Result<Option<Row>> {
    let answer = client.get(&key.path())?;
    match answer.status {
        200 => {
            let entity = serde_json::from_slice(&answer.body).context("the entity is not JSON")?;
            let (found, row) = parse(&entity)?;
            ensure!(found == *key, "requested {key:?}, got {found:?}");
            let etag = answer.header("etag");
            ensure!(
                etag == row.etag.as_deref(),
                "{key:?}: header ETag {etag:?}, body {:?}",
                row.etag
            );
            Ok(Some(row))
        }
        404 => Ok(None),
        500.. => Err(ServerError(format!("{} {}", answer.status, answer.text())).into()),
        status => bail!("get {key:?}: {status} {}", answer.text()),
    }
}

fn parse(entity: &Value) -> anyhow::Result<(Key, Row)> {
    let text = |name: &str| entity.get(name).and_then(Value::as_str);
    let key = |name: &'static str| text(name).map(str::to_owned).context(name);
    let id = |name: &str| -> anyhow::Result<Option<WriteId>> {
        let id = |text| write_id_of(text).context("a value that no writer wrote");
        text(name).map(id).transpose()
    };
    let parts = || -> anyhow::Result<_> {
        let key = Key {
            partition: key("PartitionKey")?,
            row: key("RowKey")?,
        };
        let row = Row {
            etag: text("odata.etag").map(str::to_owned),
            a: id("A")?,
            b: id("B")?,
        };
        Ok((key, row))
    };
    parts().with_context(|| format!("in {entity}"))
}
