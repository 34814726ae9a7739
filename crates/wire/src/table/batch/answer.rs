//! Writes the answer to a batch.
//!
//! The headers of a part and their order are the recorded ones (cosmosdbpython--test_table_batch_test_batch_all_operations_together and
//! its siblings): `Content-ID` if the operation had one among its headers, `X-Content-Type-Options`, `Cache-Control`, `Preference-Applied`,
//! `DataServiceVersion`, then `Location`, `DataServiceId`, `ETag`, or `Content-Type` of a body.
//!
//! | outcome | status | DataServiceVersion | besides |
//! | --- | --- | --- | --- |
//! | insert, `return-no-content` | 204 | 3.0; | Location, DataServiceId, ETag |
//! | insert | 201 | 3.0; | Content-Type, Location, ETag, the entity |
//! | update, merge | 204 | 1.0;, with `Prefer` 3.0; | ETag |
//! | delete | 204 | 1.0; | |
//! | query | 200 | 3.0; | Content-Type, ETag of a single entity, `x-ms-continuation-*` of a page with a next one |
//! | failure | that of its code | 3.0; | Content-Type |

use super::reader::ContentId;
use crate::table::{MetadataLevel, Prefer, write_error_json};
use crate::{ErrorCode, Failure, Occurrence};
use partita_model::ETag;
use std::io::Write as _;

/// How one operation of a batch ended.
#[derive(Debug, Clone)]
pub enum PartOutcome<'a> {
    /// An insert.
    Inserted {
        /// The `Prefer` it had.
        prefer: Option<Prefer>,
        /// The entity's URL.
        location: &'a str,
        /// Its version.
        etag: ETag,
        /// The entity in JSON, which an answer without `return-no-content` carries.
        body: &'a [u8],
        /// The level at which it is written.
        level: MetadataLevel,
    },
    /// An update, a merge or an upsert.
    Updated {
        /// The `Prefer` it had.
        prefer: Option<Prefer>,
        /// The entity's new version.
        etag: ETag,
    },
    /// A delete.
    Deleted,
    /// The query of a batch that is nothing else.
    Found {
        /// The version, where the answer is one entity.
        etag: Option<ETag>,
        /// Where the next page begins, if there is one.
        next: Option<NextPage<'a>>,
        /// The entity or page in JSON.
        body: &'a [u8],
        /// The level at which it is written.
        level: MetadataLevel,
    },
    /// The operation failed: the only part of its batch's answer.
    Failed {
        /// The `Prefer` of an insert, update or merge.
        prefer: Option<Prefer>,
        /// Why.
        failure: &'a Failure,
        /// Request, time, and the operation's index where the text must name it.
        occurrence: Occurrence<'a>,
        /// The level in the content type.
        level: MetadataLevel,
    },
}

/// Where the next page of a query begins, as header values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NextPage<'a> {
    /// `x-ms-continuation-NextPartitionKey`
    pub partition_key: &'a str,
    /// `x-ms-continuation-NextRowKey`
    pub row_key: Option<&'a str>,
}

/// What a part without a body takes, in bytes, about: growing the answer step by step would copy it several times.
const PART_BYTES: usize = 768;

/// Writes the parts of an answer one by one.
#[derive(Debug)]
pub struct BatchWriter {
    out: Vec<u8>,
    boundary: String,
    /// None for the answer to a query, which stands in the outer part.
    inner: Option<String>,
}

impl BatchWriter {
    /// The answer to a change set of so many parts. The boundaries are made of two GUIDs of the caller's.
    #[must_use]
    pub fn change_set(batch_id: &str, change_set_id: &str, parts: usize) -> Self {
        let boundary = format!("batchresponse_{batch_id}");
        let inner = format!("changesetresponse_{change_set_id}");
        let head =
            format!("--{boundary}\r\nContent-Type: multipart/mixed; boundary={inner}\r\n\r\n");
        let mut out = Vec::with_capacity(head.len() + parts.saturating_mul(PART_BYTES));
        out.extend_from_slice(head.as_bytes());
        Self {
            out,
            boundary,
            inner: Some(inner),
        }
    }

    /// The answer to a query alone.
    #[must_use]
    pub fn query(batch_id: &str) -> Self {
        Self {
            out: Vec::new(),
            boundary: format!("batchresponse_{batch_id}"),
            inner: None,
        }
    }

    /// The `Content-Type` of the answer; its status is 202.
    #[must_use]
    pub fn content_type(&self) -> String {
        format!("multipart/mixed;boundary={}", self.boundary)
    }

    /// Appends the answer to one operation, which repeats the `Content-ID` that it had.
    pub fn part(&mut self, content_id: Option<ContentId<'_>>, outcome: &PartOutcome<'_>) {
        let boundary = self.inner.as_ref().unwrap_or(&self.boundary);
        let out = &mut self.out;
        for piece in ["--", boundary, "\r\n"] {
            out.extend_from_slice(piece.as_bytes());
        }
        push_header("Content-Type", "application/http", out);
        push_header("Content-Transfer-Encoding", "binary", out);
        let content_id = match content_id {
            Some(ContentId::OfOperation(id)) => Some(id),
            Some(ContentId::OfPart(id)) => {
                push_header("Content-ID", id, out);
                None
            }
            None => None,
        };
        out.extend_from_slice(b"\r\n");
        push_outcome(content_id, outcome, out);
        out.extend_from_slice(b"\r\n");
    }

    /// The whole answer.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        for boundary in [self.inner, Some(self.boundary)].into_iter().flatten() {
            self.out.extend_from_slice(b"--");
            self.out.extend_from_slice(boundary.as_bytes());
            self.out.extend_from_slice(b"--\r\n");
        }
        self.out
    }
}

fn push_outcome(content_id: Option<&str>, outcome: &PartOutcome<'_>, out: &mut Vec<u8>) {
    match *outcome {
        PartOutcome::Inserted {
            prefer,
            location,
            etag,
            body,
            level,
        } => {
            let quiet = prefer == Some(Prefer::ReturnNoContent);
            let head = Head::new(if quiet { 204 } else { 201 }, content_id, prefer);
            head.push(out);
            if !quiet {
                push_header("Content-Type", level.content_type(), out);
            }
            push_header("Location", location, out);
            if quiet {
                push_header("DataServiceId", location, out);
            }
            push_header("ETag", &etag.text(), out);
            push_body(if quiet { b"" } else { body }, out);
        }
        PartOutcome::Updated { prefer, etag } => {
            let version = if prefer.is_some() { "3.0;" } else { "1.0;" };
            let head = Head::new(204, content_id, prefer);
            head.of_version(version).push(out);
            push_header("ETag", &etag.text(), out);
            push_body(b"", out);
        }
        PartOutcome::Deleted => {
            let head = Head::new(204, content_id, None);
            head.of_version("1.0;").push(out);
            push_body(b"", out);
        }
        PartOutcome::Found {
            etag,
            next,
            body,
            level,
        } => {
            Head::new(200, content_id, None).push(out);
            push_header("Content-Type", level.content_type(), out);
            if let Some(etag) = etag {
                push_header("ETag", &etag.text(), out);
            }
            if let Some(next) = next {
                next.push(out);
            }
            push_body(body, out);
        }
        PartOutcome::Failed {
            prefer,
            failure,
            ref occurrence,
            level,
        } => {
            // Alone among the recorded failures, a missing table has neither of the two headers (recording
            // python--test_table_batch_test_new_non_existent_table).
            let bare = failure.code == ErrorCode::TableNotFound;
            let head = Head::new(failure.status(), content_id, prefer.filter(|_| !bare));
            Head {
                cached: bare,
                ..head
            }
            .push(out);
            push_header("Content-Type", level.content_type(), out);
            out.extend_from_slice(b"\r\n");
            write_error_json(failure, occurrence, out);
        }
    }
}

impl NextPage<'_> {
    fn push(&self, out: &mut Vec<u8>) {
        let Self {
            partition_key,
            row_key,
        } = self;
        push_header("x-ms-continuation-NextPartitionKey", partition_key, out);
        if let Some(row_key) = row_key {
            push_header("x-ms-continuation-NextRowKey", row_key, out);
        }
    }
}

/// What every part begins with.
struct Head<'a> {
    status: u16,
    content_id: Option<&'a str>,
    /// Without `Cache-Control: no-cache`.
    cached: bool,
    prefer: Option<Prefer>,
    version: &'static str,
}

impl<'a> Head<'a> {
    const fn new(status: u16, content_id: Option<&'a str>, prefer: Option<Prefer>) -> Self {
        Self {
            status,
            content_id,
            cached: false,
            prefer,
            version: "3.0;",
        }
    }

    const fn of_version(self, version: &'static str) -> Self {
        Self { version, ..self }
    }

    fn push(&self, out: &mut Vec<u8>) {
        let Self {
            status,
            content_id,
            cached,
            prefer,
            version,
        } = self;
        write!(out, "HTTP/1.1 {status} {}\r\n", reason(*status))
            .expect("a vector takes all that is written");
        if let Some(id) = content_id {
            push_header("Content-ID", id, out);
        }
        push_header("X-Content-Type-Options", "nosniff", out);
        if !cached {
            push_header("Cache-Control", "no-cache", out);
        }
        if let Some(prefer) = prefer {
            push_header("Preference-Applied", prefer.text(), out);
        }
        push_header("DataServiceVersion", version, out);
    }
}

fn push_header(name: &str, value: &str, out: &mut Vec<u8>) {
    for piece in [name, ": ", value, "\r\n"] {
        out.extend_from_slice(piece.as_bytes());
    }
}

fn push_body(body: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(body);
}

/// The standard phrase of a status that a part can have.
const fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        204 => "No Content",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        409 => "Conflict",
        412 => "Precondition Failed",
        413 => "Request Entity Too Large",
        415 => "Unsupported Media Type",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        503 => "Service Unavailable",
        _ => "Error",
    }
}
