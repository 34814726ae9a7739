//! Requests of every operation, in an order in which each finds what it needs.

use partita_model::EntityPosition;
use partita_wire::ServiceKind::{self, Queue, Table};
use partita_wire::queue::QueueSasTerms;
use partita_wire::table::TableSasTerms;

use super::*;

/// The credentials of a step.
pub(super) enum By {
    /// An account SAS.
    Sas,
    /// The key of the account.
    Key,
    /// What the path has.
    Path,
}

/// A request. `{message}` in a path stands for the message of the last answer that had a receipt.
pub(super) struct Step {
    pub(super) service: ServiceKind,
    pub(super) by: By,
    pub(super) method: &'static str,
    pub(super) path: String,
    pub(super) headers: Vec<(&'static str, &'static str)>,
    pub(super) body: Vec<u8>,
}

fn step(service: ServiceKind, method: &'static str, path: &str, body: &str) -> Step {
    Step {
        service,
        by: By::Sas,
        method,
        path: path.to_owned(),
        headers: vec![("x-ms-version", "2019-02-02")],
        body: body.as_bytes().to_vec(),
    }
}

impl Step {
    fn header(mut self, name: &'static str, value: &'static str) -> Self {
        self.headers.push((name, value));
        self
    }

    fn by_key(mut self) -> Self {
        self.headers.clear();
        self.by = By::Key;
        self
    }

    /// With the credentials in this query, or with none.
    fn by_path(mut self, query: &str) -> Self {
        let mark = if self.path.contains('?') { '&' } else { '?' };
        self.path = format!("{}{mark}{query}", self.path);
        self.by = By::Path;
        self
    }
}

fn table(method: &'static str, path: &str, body: &str) -> Step {
    step(Table, method, path, body).header("Accept", "application/json;odata=fullmetadata")
}

fn queue(method: &'static str, path: &str, body: &str) -> Step {
    step(Queue, method, path, body)
}

const POLICY: &str = "<SignedIdentifiers><SignedIdentifier><Id>readers</Id><AccessPolicy>\
    <Expiry>9999-01-01T00:00:00Z</Expiry><Permission>r</Permission></AccessPolicy></SignedIdentifier>\
    </SignedIdentifiers>";

const CORS: &str = "<StorageServiceProperties><Cors><CorsRule><AllowedOrigins>http://here</AllowedOrigins>\
    <AllowedMethods>GET</AllowedMethods><AllowedHeaders>x-ms-*</AllowedHeaders><ExposedHeaders>x-ms-*</ExposedHeaders>\
    <MaxAgeInSeconds>5</MaxAgeInSeconds></CorsRule></Cors></StorageServiceProperties>";

/// A SAS whose terms are in the policy `readers` of the table.
pub(super) fn table_policy_sas() -> String {
    let sas = TableSasTerms {
        table: "Tab".to_owned(),
        low: None,
        high: None,
        permissions: String::new(),
        policy_id: Some("readers".to_owned()),
        terms: partita_wire::SasTerms::default(),
    };
    sas.sign(ACCOUNT, &key())
}

fn queue_policy_sas() -> String {
    let sas = QueueSasTerms {
        queue: "jobs".to_owned(),
        permissions: String::new(),
        policy_id: Some("readers".to_owned()),
        terms: partita_wire::SasTerms::default(),
    };
    sas.sign(ACCOUNT, &key())
}

/// A SAS for the rows `b` to `c` of partition `p`.
fn clipped_sas() -> String {
    let position = |row: &str| EntityPosition {
        partition_key: "p".to_owned(),
        row_key: Some(row.to_owned()),
    };
    let sas = TableSasTerms {
        table: "Tab".to_owned(),
        low: Some(position("b")),
        high: Some(position("c")),
        permissions: "raud".to_owned(),
        policy_id: None,
        terms: terms(),
    };
    sas.sign(ACCOUNT, &key())
}

fn batch(row: &str) -> String {
    format!(
        "--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\nContent-Type: application/http\r\n\r\n\
         POST /Tab HTTP/1.1\r\nContent-Type: application/json\r\n\r\n{{\"PartitionKey\":\"p\",\"RowKey\":\"{row}\"}}\r\n\
         --c--\r\n--b--\r\n"
    )
}

/// A batch that inserts one row.
pub(super) fn batch_that_inserts(row: &str) -> Vec<u8> {
    let target = with_sas(Table, "/$batch");
    let kind = [("Content-Type", "multipart/mixed; boundary=b")];
    request("POST", &target, &kind, batch(row).as_bytes(), "close")
}

fn row(row: &str) -> String {
    format!("/Tab(PartitionKey='p',RowKey='{row}')")
}

/// Every operation of tables, with answers of many kinds.
pub(super) fn tables() -> Vec<Step> {
    let json = |step: Step| step.header("Content-Type", "application/json");
    let new_row = r#"{"PartitionKey":"p","RowKey":"a","A":1,"T":"text"}"#;
    let in_batch = |row: &str| {
        table("POST", "/$batch", &batch(row)).header("Content-Type", "multipart/mixed; boundary=b")
    };
    let preflight = || {
        let asked = table("OPTIONS", "/Tab", "").header("Origin", "http://here");
        let asked = asked.header("Access-Control-Request-Method", "GET");
        asked.by_path("")
    };
    let (properties, stats) = (
        "/?restype=service&comp=properties",
        "/?restype=service&comp=stats",
    );
    vec![
        json(table("POST", "/Tables", r#"{"TableName":"Tab"}"#)),
        json(table("POST", "/Tables", r#"{"TableName":"Tab"}"#)),
        json(table("POST", "/Tables", r#"{"TableName":"Other"}"#))
            .header("Prefer", "return-no-content"),
        table("GET", "/Tables", ""),
        table("GET", "/Tables?$top=1", ""),
        table("GET", "/Tables('Tab')", ""),
        json(table("POST", "/Tab", new_row)),
        json(table("POST", "/Tab", new_row)),
        json(table("POST", "/Tab", &new_row.replace(r#""a""#, r#""b""#)))
            .header("Prefer", "return-no-content"),
        json(table("PUT", &row("c"), r#"{"A":1.5}"#)),
        json(table("PUT", &row("a"), r#"{"A":2}"#)).header("If-Match", "*"),
        json(table("MERGE", &row("a"), r#"{"B":true}"#)).header("If-Match", "*"),
        json(table("MERGE", &row("d"), r#"{"B":true}"#)),
        json(table("PUT", &row("none"), "{}")).header("If-Match", "*"),
        table("GET", &row("a"), "").header("x-ms-client-request-id", "mine"),
        table("GET", &row("a"), "").header("Accept-Encoding", "gzip"),
        table("GET", &row("none"), ""),
        table("GET", "/Tab()?$filter=A%20gt%201", "").header("x-partita-explain", "true"),
        table("GET", "/Tab()?$top=1&$select=A", ""),
        table("GET", "/Tab()?$filter=nonsense", ""),
        in_batch("e"),
        in_batch("e"),
        table("GET", "/Tab()", "").by_path(&clipped_sas()),
        table("GET", &row("a"), "").by_path(&clipped_sas()),
        table("GET", &row("b"), "").by_path(&clipped_sas()),
        json(table("PUT", &row("z"), "{}")).by_path(&clipped_sas()),
        table("PUT", "/Tab?comp=acl", POLICY).by_key(),
        table("GET", "/Tab?comp=acl", "").by_key(),
        table("GET", "/Tab()", "").by_path(&table_policy_sas()),
        json(table("PUT", &row("z"), "{}")).by_path(&table_policy_sas()),
        table("GET", "/Other()", "").by_path(&table_policy_sas()),
        table("DELETE", &row("a"), "")
            .header("If-Match", "W/\"datetime'2020-01-01T00%3A00%3A00Z'\""),
        table("DELETE", &row("a"), "").header("If-Match", "*"),
        table("DELETE", &row("a"), ""),
        table("GET", "/Tab?comp=partita-settings", ""),
        table("PUT", "/Tab?comp=partita-settings", "nonsense"),
        table("POST", "/Tab?comp=partita-rename", "nonsense"),
        table("POST", "/Tab?comp=partita-truncate", ""),
        table("GET", "/Tab()", ""),
        preflight(),
        table("PUT", properties, CORS),
        table("GET", properties, ""),
        preflight(),
        table("GET", "/Tab()", "").header("Origin", "http://here"),
        table("GET", &row("none"), "").header("Origin", "http://here"),
        table("GET", stats, ""),
        table("PUT", properties, "nonsense"),
        json(table("PUT", &row("big"), &"x".repeat(5 << 20))),
        table("GET", "/Tab()", "").by_path(""),
        table("GET", "/Tab()", "")
            .by_path("sv=2019-02-02&ss=t&srt=sco&sp=r&se=9999-01-01T00:00:00Z&sig=x"),
        table("PATCH", "/Tables", ""),
        table("DELETE", "/Tables('Tab')", ""),
        table("DELETE", "/Tables('Tab')", ""),
    ]
}

/// Every operation of queues, with answers of many kinds.
pub(super) fn queues() -> Vec<Step> {
    let message =
        |text: &str| format!("<QueueMessage><MessageText>{text}</MessageText></QueueMessage>");
    let (properties, stats) = (
        "/?restype=service&comp=properties",
        "/?restype=service&comp=stats",
    );
    let preflight = || {
        let asked = queue("OPTIONS", "/jobs/messages", "").header("Origin", "http://here");
        let asked = asked.header("Access-Control-Request-Method", "GET");
        asked.by_path("")
    };
    vec![
        queue("PUT", "/jobs", "").header("x-ms-meta-OwnerName", "Ann"),
        queue("PUT", "/jobs", "").header("x-ms-meta-OwnerName", "Ann"),
        queue("PUT", "/jobs", ""),
        queue("PUT", "/Bad_Name", ""),
        queue("GET", "/?comp=list&include=metadata", ""),
        queue("GET", "/jobs?comp=metadata", ""),
        queue("PUT", "/jobs?comp=metadata", "").header("x-ms-meta-CamelCase", "1"),
        queue("GET", "/jobs?comp=metadata", ""),
        queue("HEAD", "/jobs?comp=metadata", ""),
        queue("PUT", "/jobs?comp=acl", POLICY).by_key(),
        queue("GET", "/jobs?comp=acl", "").by_key(),
        queue("POST", "/jobs/messages", &message("one")),
        queue("POST", "/jobs/messages", "nonsense"),
        queue("POST", "/jobs/messages", &message(&"x".repeat(100_000))),
        queue("GET", "/jobs/messages?peekonly=true", ""),
        queue("GET", "/jobs/messages?peekonly=true", "").by_path(&queue_policy_sas()),
        queue("POST", "/jobs/messages", &message("two")).by_path(&queue_policy_sas()),
        queue("GET", "/jobs/messages", ""),
        queue(
            "PUT",
            "/jobs/messages/{message}&visibilitytimeout=0",
            &message("changed"),
        ),
        queue(
            "PUT",
            "/jobs/messages/{message}&visibilitytimeout=0",
            "nonsense",
        ),
        queue("GET", "/jobs/messages?numofmessages=32", ""),
        queue("DELETE", "/jobs/messages/{message}", ""),
        queue("DELETE", "/jobs/messages/{message}", ""),
        queue("GET", "/jobs/messages", "").header("x-partita-wait-seconds", "1"),
        queue("GET", "/none/messages", ""),
        queue("POST", "/jobs/messages", &message("three")).by_key(),
        queue("DELETE", "/jobs/messages", ""),
        preflight(),
        queue("PUT", properties, CORS),
        queue("GET", properties, ""),
        preflight(),
        queue("GET", "/jobs?comp=metadata", "").header("Origin", "http://here"),
        queue("GET", stats, ""),
        queue("GET", "/jobs/messages", "").by_path(""),
        queue("DELETE", "/jobs", ""),
        queue("DELETE", "/jobs", ""),
    ]
}
