//! The table protocol of a client: requests and answers.

use anyhow::{Context as _, ensure};
use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use partita_model::DateTime;
use partita_server::config::{WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY};
use partita_wire::{AccountKey, AccountSasTerms, SasTerms, ServiceKind};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use serde_json::{Value, json};

use super::connection::Call;
use crate::client::Answer;
use crate::model::{Key, Refusal, Row, RowChange, Values, Write};

/// A request before it is signed.
#[derive(Clone, Debug)]
pub(crate) struct TableRequest {
    pub(crate) method: &'static str,
    /// The path, without the account.
    pub(crate) path: String,
    /// The query, without the signature.
    pub(crate) query: String,
    pub(crate) if_match: Option<String>,
    pub(crate) content_type: &'static str,
    pub(crate) body: String,
}

impl TableRequest {
    pub(crate) fn new(method: &'static str, path: impl Into<String>) -> Self {
        Self {
            method,
            path: path.into(),
            query: String::new(),
            if_match: None,
            content_type: "",
            body: String::new(),
        }
    }

    pub(crate) fn json(mut self, body: &Value) -> Self {
        self.content_type = "application/json";
        self.body = body.to_string();
        self
    }

    /// A write of one row.
    pub(crate) fn write(write: &Write) -> Self {
        let Write {
            key,
            change,
            values,
            if_match,
        } = write;
        let mut body = serde_json::Map::new();
        if let Some(number) = values.number {
            body.insert("Number".to_owned(), number.into());
        }
        if let Some(text) = &values.text {
            body.insert("Text".to_owned(), text.as_str().into());
        }
        let method = match change {
            RowChange::Insert => {
                body.insert("PartitionKey".to_owned(), key.partition.as_str().into());
                body.insert("RowKey".to_owned(), key.row.as_str().into());
                return Self::new("POST", format!("/{}", key.table)).json(&body.into());
            }
            RowChange::Replace | RowChange::InsertOrReplace => "PUT",
            RowChange::Merge | RowChange::InsertOrMerge => "MERGE",
            RowChange::Delete => "DELETE",
        };
        let mut request = Self::new(method, path_of(key));
        request.if_match.clone_from(if_match);
        match change {
            RowChange::Delete => request,
            _ => request.json(&body.into()),
        }
    }

    /// A read of one row.
    pub(crate) fn get(key: &Key) -> Self {
        Self::new("GET", path_of(key))
    }

    /// The creation of a table.
    pub(crate) fn create_table(name: &str) -> Self {
        Self::new("POST", "/Tables").json(&json!({ "TableName": name }))
    }
}

impl Call for TableRequest {
    fn sign(&self, signature: &str) -> anyhow::Result<Request<Full<Bytes>>> {
        let Self { path, query, .. } = self;
        let mut request = Request::builder()
            .method(self.method)
            .uri(format!("/{WELL_KNOWN_ACCOUNT}{path}?{query}{signature}"))
            .header("x-ms-version", "2019-02-02")
            .header("accept", "application/json;odata=minimalmetadata");
        if !self.content_type.is_empty() {
            request = request.header("content-type", self.content_type);
        }
        if let Some(if_match) = &self.if_match {
            request = request.header("if-match", if_match);
        }
        Ok(request.body(Full::new(Bytes::from(self.body.clone())))?)
    }

    fn line(&self) -> String {
        let Self {
            method,
            path,
            query,
            if_match,
            body,
            ..
        } = self;
        let hash = crc32fast::hash(body.as_bytes());
        format!("{method} {path}?{query} {if_match:?} {hash:08x}")
    }

    fn shown(&self, answer: &Answer) -> String {
        format!("{:?}", answer.header("etag"))
    }
}

fn path_of(key: &Key) -> String {
    format!(
        "/{}(PartitionKey='{}',RowKey='{}')",
        key.table, key.partition, key.row
    )
}

/// An account SAS with all permissions for a service that does not expire before the year 9999.
pub(crate) fn signature(service: ServiceKind) -> anyhow::Result<String> {
    let terms = AccountSasTerms {
        permissions: "rwdlacup".to_owned(),
        resource_types: "sco".to_owned(),
        terms: SasTerms {
            expiry: DateTime::parse("9999-01-01T00:00:00Z").ok(),
            ..SasTerms::default()
        },
    };
    let key = AccountKey::from_base64(WELL_KNOWN_KEY)?;
    Ok(terms.sign(WELL_KNOWN_ACCOUNT, &key, service))
}

/// Percent-encodes a text for a query string.
pub(crate) fn escaped(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

/// Checks that an answer, or a part of the answer to a batch, is this refusal.
pub(crate) fn expect_refusal(status: u16, body: &[u8], refusal: Refusal) -> anyhow::Result<()> {
    let text = || String::from_utf8_lossy(body);
    let error: Value = serde_json::from_slice(body).with_context(|| text().into_owned())?;
    let code = error["odata.error"]["code"].as_str();
    ensure!(
        status == refusal.status && code == Some(refusal.code),
        "{status} {}, not {refusal:?}",
        text()
    );
    Ok(())
}

/// A row as JSON.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct JsonRow {
    #[serde(rename = "odata.etag")]
    etag: String,
    partition_key: String,
    row_key: String,
    #[serde(rename = "Timestamp")]
    _timestamp: String,
    number: Option<i64>,
    text: Option<String>,
}

#[derive(Deserialize)]
struct JsonPage {
    value: Vec<JsonRow>,
}

impl JsonRow {
    fn of(self, table: &str) -> (Key, Row) {
        let key = Key {
            table: table.to_owned(),
            partition: self.partition_key,
            row: self.row_key,
        };
        let values = Values {
            number: self.number,
            text: self.text,
        };
        let etag = self.etag;
        (key, Row { etag, values })
    }
}

/// The row of an answer.
pub(crate) fn row(table: &str, answer: &Answer) -> anyhow::Result<(Key, Row)> {
    let row: JsonRow = serde_json::from_slice(&answer.body).with_context(|| answer.text())?;
    Ok(row.of(table))
}

/// A page of a query's answer.
pub(crate) struct Page {
    pub(crate) rows: Vec<(Key, Row)>,
    /// The query options of the next page, if there is one.
    pub(crate) next: Option<String>,
}

/// Reads a page.
pub(crate) fn page(table: &str, answer: &Answer) -> anyhow::Result<Page> {
    let page: JsonPage = serde_json::from_slice(&answer.body).with_context(|| answer.text())?;
    let rows = page.value.into_iter().map(|row| row.of(table)).collect();
    let mut next = String::new();
    for name in ["NextPartitionKey", "NextRowKey"] {
        if let Some(token) = answer.header(&format!("x-ms-continuation-{name}")) {
            next += &format!("{name}={}&", escaped(token));
        }
    }
    let next = (!next.is_empty()).then_some(next);
    Ok(Page { rows, next })
}
