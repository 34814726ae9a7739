//! Writes the answer to a batch.
//!
//! The headers of a part and their order are as recorded
//! (cosmosdbpython--test_table_batch_test_batch_all_operations_together and its siblings): `Content-ID` if it was among
//! the operation's headers, `X-Content-Type-Options`, `Cache-Control`, `Preference-Applied`, `DataServiceVersion`, then
//! `Location`, `DataServiceId`, `ETag`, or `Content-Type` of a body.
//!
//! | outcome | status | DataServiceVersion | other headers |
//! | --- | --- | --- | --- |
//! | insert, `return-no-content` | 204 | 3.0; | Location, DataServiceId, ETag |
//! | insert | 201 | 3.0; | Content-Type, Location, ETag, the entity |
//! | update, merge | 204 | 1.0;, or 3.0; with `Prefer` | ETag |
//! | delete | 204 | 1.0; | |
//! | query | 200 | 3.0; | Content-Type, ETag of a single entity, `x-ms-continuation-*` of a page that is not the last |
//! | failure | that of its code | 3.0; | Content-Type |

use super::multipart::Multipart;
use super::reader::ContentId;
use crate::table::{MetadataLevel, Prefer, write_error_json};
use crate::{ErrorCode, Failure, Occurrence};
use partita_model::ETag;
use std::io::Write as _;

/// The outcome of one operation of a batch.
#[derive(Debug, Clone)]
pub enum PartOutcome<'a> {
    /// An insert.
    Inserted {
        /// The request's `Prefer`.
        prefer: Option<Prefer>,
        /// The entity's URL.
        location: &'a str,
        /// Its ETag.
        etag: ETag,
        /// The entity in JSON, for an answer without `return-no-content`.
        body: &'a [u8],
        /// The metadata level of the JSON.
        level: MetadataLevel,
    },
    /// An update, a merge or an upsert.
    Updated {
        /// The request's `Prefer`.
        prefer: Option<Prefer>,
        /// The entity's new ETag.
        etag: ETag,
    },
    /// A delete.
    Deleted,
    /// A query, which is the only operation of its batch.
    Found {
        /// The ETag, if the answer is a single entity.
        etag: Option<ETag>,
        /// Where the next page begins, if there is one.
        next: Option<NextPage<'a>>,
        /// The entity or page in JSON.
        body: &'a [u8],
        /// The metadata level of the JSON.
        level: MetadataLevel,
    },
    /// The operation failed. Its failure is the only part of the batch's answer.
    Failed {
        /// The `Prefer` of an insert, update or merge.
        prefer: Option<Prefer>,
        /// The failure of the operation.
        failure: &'a Failure,
        /// Request, time, and the operation's index if the text must name it.
        occurrence: Occurrence<'a>,
        /// The metadata level in the content type.
        level: MetadataLevel,
    },
}

/// The position of the next page of a query, as header values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NextPage<'a> {
    /// `x-ms-continuation-NextPartitionKey`
    pub partition_key: &'a str,
    /// `x-ms-continuation-NextRowKey`
    pub row_key: Option<&'a str>,
}

/// Approximate size of a part without a body, in bytes. Reserving it avoids copies of a growing answer.
const PART_BYTES: usize = 768;

/// Writes the parts of an answer one by one.
#[derive(Debug)]
pub struct BatchWriter(Multipart);

impl BatchWriter {
    /// Starts the answer to a change set. `parts`, the expected number of operations, only reserves memory. The ids are
    /// two GUIDs, for the boundaries.
    pub fn change_set(batch_id: &str, change_set_id: &str, parts: usize) -> Self {
        Self(Multipart::change_set(
            format!("batchresponse_{batch_id}"),
            format!("changesetresponse_{change_set_id}"),
            parts.saturating_add(1).saturating_mul(PART_BYTES),
        ))
    }

    /// The answer to a single query.
    pub fn query(batch_id: &str) -> Self {
        Self(Multipart::flat(format!("batchresponse_{batch_id}")))
    }

    /// The `Content-Type` of the answer; its status is 202.
    pub fn content_type(&self) -> String {
        format!("multipart/mixed;boundary={}", self.0.boundary())
    }

    /// Appends the answer to one operation, and repeats its `Content-ID`.
    pub fn part(&mut self, content_id: Option<ContentId<'_>>, outcome: &PartOutcome<'_>) {
        let out = self.0.part();
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
    pub fn finish(self) -> Vec<u8> {
        self.0.finish()
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
            let mut head = Head::new(204, content_id, prefer);
            head.version = if prefer.is_some() { "3.0;" } else { "1.0;" };
            head.push(out);
            push_header("ETag", &etag.text(), out);
            push_body(b"", out);
        }
        PartOutcome::Deleted => {
            let mut head = Head::new(204, content_id, None);
            head.version = "1.0;";
            head.push(out);
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
            // Of the recorded failures, only a missing table has neither `Cache-Control` nor `Preference-Applied`
            // (recording python--test_table_batch_test_new_non_existent_table).
            let bare = failure.code == ErrorCode::TableNotFound;
            let mut head = Head::new(failure.status(), content_id, prefer.filter(|_| !bare));
            head.cached = bare;
            head.push(out);
            push_header("Content-Type", level.content_type(), out);
            out.extend_from_slice(b"\r\n");
            write_error_json(failure, occurrence, out);
        }
    }
}

impl NextPage<'_> {
    fn push(&self, out: &mut Vec<u8>) {
        push_header(
            "x-ms-continuation-NextPartitionKey",
            self.partition_key,
            out,
        );
        if let Some(row_key) = self.row_key {
            push_header("x-ms-continuation-NextRowKey", row_key, out);
        }
    }
}

/// The status line and the first headers of a part.
struct Head<'a> {
    status: u16,
    content_id: Option<&'a str>,
    /// Whether to omit `Cache-Control: no-cache`.
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

    fn push(&self, out: &mut Vec<u8>) {
        write!(out, "HTTP/1.1 {} {}\r\n", self.status, reason(self.status))
            .expect("writing to a vector cannot fail");
        if let Some(id) = self.content_id {
            push_header("Content-ID", id, out);
        }
        push_header("X-Content-Type-Options", "nosniff", out);
        if !self.cached {
            push_header("Cache-Control", "no-cache", out);
        }
        if let Some(prefer) = self.prefer {
            push_header("Preference-Applied", prefer.text(), out);
        }
        push_header("DataServiceVersion", self.version, out);
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

/// The reason phrase of the statuses that a part can have.
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
