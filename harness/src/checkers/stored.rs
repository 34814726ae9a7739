//! Reads everything back.

use anyhow::{Context, bail, ensure};
use partita_bench::client::{Client, Request};
use serde_json::Value;

use super::TABLE;
use super::model::{Key, Row, Rows, Stamp, stamp_of};

/// Every row of the table, by a scan over all pages.
pub(crate) fn scan(client: &mut Client) -> anyhow::Result<Rows> {
    let mut rows = Rows::new();
    let mut query = String::new();
    loop {
        let answer = client.send(&Request {
            query: &query,
            ..Request::new("GET", &format!("/{TABLE}()"))
        })?;
        ensure!(
            answer.status == 200,
            "scan: {} {}",
            answer.status,
            answer.text()
        );
        let page: Value = serde_json::from_slice(&answer.body).context("the page is not JSON")?;
        for entity in page["value"].as_array().context("the page has no value")? {
            let (key, row) = parse(entity)?;
            if rows.insert(key.clone(), row).is_some() {
                bail!("the scan gave {key:?} twice");
            }
        }
        let token = |name: &str| answer.header(name).map(str::to_owned);
        let Some(partition) = token("x-ms-continuation-NextPartitionKey") else {
            return Ok(rows);
        };
        query = format!("NextPartitionKey={}", escape(&partition));
        if let Some(row) = token("x-ms-continuation-NextRowKey") {
            query += &format!("&NextRowKey={}", escape(&row));
        }
    }
}

/// One row, by its keys.
pub(crate) fn get(client: &mut Client, key: &Key) -> anyhow::Result<Option<Row>> {
    let answer = client.send(&Request::new("GET", &key.path()))?;
    match answer.status {
        200 => {
            let entity = serde_json::from_slice(&answer.body).context("the entity is not JSON")?;
            let (found, row) = parse(&entity)?;
            ensure!(found == *key, "asked for {key:?}, got {found:?}");
            let etag = answer.header("etag");
            ensure!(
                etag == row.etag.as_deref(),
                "{key:?}: header tag {etag:?}, body {:?}",
                row.etag
            );
            Ok(Some(row))
        }
        404 => Ok(None),
        status => bail!("get {key:?}: {status} {}", answer.text()),
    }
}

fn parse(entity: &Value) -> anyhow::Result<(Key, Row)> {
    let text = |name: &str| entity.get(name).and_then(Value::as_str);
    let stamp = |name: &str| -> anyhow::Result<Option<Stamp>> {
        text(name)
            .map(|text| {
                stamp_of(text).with_context(|| format!("a value that no writer wrote in {entity}"))
            })
            .transpose()
    };
    let key = Key {
        partition: text("PartitionKey")
            .context("an entity without PartitionKey")?
            .to_owned(),
        row: text("RowKey")
            .context("an entity without RowKey")?
            .to_owned(),
    };
    let row = Row {
        etag: text("odata.etag").map(str::to_owned),
        a: stamp("A")?,
        b: stamp("B")?,
    };
    Ok((key, row))
}

/// Percent-encodes what a token may hold beyond the unreserved characters.
pub(crate) fn escape(token: &str) -> String {
    token.bytes().fold(String::new(), |text, byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' => {
            text + &char::from(byte).to_string()
        }
        byte => text + &format!("%{byte:02X}"),
    })
}
