//! Reads the body of a batch request into its operations, as slices.
//!
//! All dialects that clients are known to send are read: request lines with an absolute URL, with a path with and without account;
//! header names in any case; CRLF or LF; extra blank lines; quoted boundaries; a missing `--` at the end; no Content-Length, or a
//! wrong one: the body ends at the delimiter (recordings cosmosdbpython--test_table_batch_*, js--batch_*,
//! gostorage--TableBatchSuite_*, net--TableClientLiveTests_BatchInsert, go--TestBatchComplex).
//!
//! What the parts mean together (one table, one partition, no entity twice) is left to the operation.

use super::content_type::boundary;
use super::sections::{Header, NoHeader, Sections, skip_blank_lines, take_header, take_line};
use crate::{ErrorCode, Failure};
use partita_model::limits::BATCH_OPERATIONS_MAX;

/// Length of the URL of an operation, in bytes: no less than a request of its own may have in its head. A batch must not be the
/// way to a larger `$select` or `$filter`.
const TARGET_BYTES_MAX: usize = 64 * 1024;

/// A batch, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch<'a> {
    /// The operations in their order: 1 to 100.
    pub parts: Vec<Part<'a>>,
    /// Whether they stand in a change set. Otherwise there is exactly one, a query.
    pub in_change_set: bool,
}

/// One operation of a batch: a request of its own, with the headers that count.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Part<'a> {
    /// The verb as sent.
    pub method: &'a str,
    /// The URL as sent: absolute, or beginning with `/`, or relative.
    pub target: &'a str,
    /// `X-HTTP-Method`
    pub x_http_method: Option<&'a str>,
    /// `If-Match`
    pub if_match: Option<&'a str>,
    /// `Prefer`
    pub prefer: Option<&'a str>,
    /// `Accept`
    pub accept: Option<&'a str>,
    /// `Content-Type` of the operation, not of the part.
    pub content_type: Option<&'a str>,
    /// `DataServiceVersion`
    pub data_service_version: Option<&'a str>,
    /// `Content-ID`, which the answer repeats where it stood.
    pub content_id: Option<ContentId<'a>>,
    /// The body, without white space around it.
    pub body: &'a [u8],
}

/// A `Content-ID`, and where it stands. The answer repeats it in the same place: the recordings have that of an operation among the
/// headers of its answer (cosmosdbpython--test_table_batch_test_batch_all_operations_together), and none there for that of a part
/// (python--test_table_batch_test_batch_all_operations_together).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentId<'a> {
    /// Among the operation's headers.
    OfOperation(&'a str),
    /// Among the headers of the part that holds it.
    OfPart(&'a str),
}

/// Why a batch is refused before any of its operations is looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchRefusal {
    /// The operation at fault: the answer is then a batch of its own with that failure in it. Without, the request as a whole is
    /// answered with the failure.
    pub index: Option<usize>,
    /// What is wrong.
    pub failure: Failure,
}

impl BatchRefusal {
    fn malformed(text: &'static str) -> Self {
        Self {
            index: None,
            failure: Failure::with_message(ErrorCode::InvalidInput, text),
        }
    }

    /// The text and the index are those that were observed, though the operation at fault is the hundred and first.
    fn too_many() -> Self {
        let text = "The batch request operation exceeds the maximum 100 changes per change set.";
        Self {
            index: Some(BATCH_OPERATIONS_MAX - 1),
            failure: Failure::with_message(ErrorCode::InvalidInput, text),
        }
    }
}

const NOT_MULTIPART: &str = "The batch request is not multipart/mixed with a boundary.";
const NO_PARTS: &str = "The batch request holds no operation.";
const LONG_TARGET: &str = "The URL of an operation in the batch request is too long.";
const BAD_PART: &str = "A part of the batch request is not an HTTP request.";
const MIXED: &str = "A batch request holds either one change set or one query.";

/// Reads a batch from the value of `Content-Type` and the body, which the caller bounds.
///
/// # Errors
/// [`BatchRefusal`], always 400 InvalidInput: not multipart, nothing in it, a part that is no request, more than one change set, more
/// than one query, queries beside a change set, more than 100 operations, a URL longer than any head of a request, two values
/// for what decides what is done.
pub fn read_batch<'a>(content_type: &str, body: &'a [u8]) -> Result<Batch<'a>, BatchRefusal> {
    let boundary = boundary(content_type).ok_or(BatchRefusal::malformed(NOT_MULTIPART))?;
    let delimiter = delimiter(boundary);
    let mut batch: Option<Batch<'a>> = None;
    for section in Sections::new(&delimiter, body) {
        let section = skip_blank_lines(section);
        if section.is_empty() {
            continue;
        }
        if batch.is_some() {
            return Err(BatchRefusal::malformed(MIXED));
        }
        batch = Some(outer_part(section)?);
    }
    batch.ok_or(BatchRefusal::malformed(NO_PARTS))
}

/// A part of the outer multipart: a change set, or a query.
fn outer_part(section: &[u8]) -> Result<Batch<'_>, BatchRefusal> {
    let mut rest = section;
    let mut boundary_inside = None;
    while let Some((name, value)) = mime_header(&mut rest)? {
        if name.eq_ignore_ascii_case(b"content-type") {
            boundary_inside = std::str::from_utf8(value).ok().and_then(boundary);
        }
    }
    match boundary_inside {
        None => Ok(Batch {
            parts: vec![part(section)?],
            in_change_set: false,
        }),
        Some(boundary) => Ok(Batch {
            parts: change_set(boundary, rest)?,
            in_change_set: true,
        }),
    }
}

fn change_set<'a>(boundary: &str, body: &'a [u8]) -> Result<Vec<Part<'a>>, BatchRefusal> {
    let delimiter = delimiter(boundary);
    let mut parts = Vec::new();
    for section in Sections::new(&delimiter, body) {
        let section = skip_blank_lines(section);
        if section.is_empty() {
            continue;
        }
        if parts.len() == BATCH_OPERATIONS_MAX {
            return Err(BatchRefusal::too_many());
        }
        parts.push(part(section)?);
    }
    if parts.is_empty() {
        return Err(BatchRefusal::malformed(NO_PARTS));
    }
    Ok(parts)
}

fn delimiter(boundary: &str) -> Vec<u8> {
    [b"--", boundary.as_bytes()].concat()
}

fn mime_header<'a>(rest: &mut &'a [u8]) -> Result<Option<Header<'a>>, BatchRefusal> {
    take_header(rest).map_err(|NoHeader| BatchRefusal::malformed(BAD_PART))
}

/// A part's own headers, and the request in it.
fn part(section: &[u8]) -> Result<Part<'_>, BatchRefusal> {
    let mut rest = section;
    let mut id_of_part = None;
    while let Some((name, value)) = mime_header(&mut rest)? {
        if name.eq_ignore_ascii_case(b"content-id") {
            id_of_part = Some(header_value(value)?);
        }
    }
    let mut part = operation(rest)?;
    if let (None, Some(id)) = (part.content_id, id_of_part) {
        part.content_id = Some(ContentId::OfPart(id));
    }
    Ok(part)
}

/// A request within a part.
fn operation(section: &[u8]) -> Result<Part<'_>, BatchRefusal> {
    let bad = || BatchRefusal::malformed(BAD_PART);
    let mut rest = skip_blank_lines(section);
    let line = take_line(&mut rest).ok_or_else(bad)?;
    let (method, target) = request_line(line).ok_or_else(bad)?;
    if target.len() > TARGET_BYTES_MAX {
        return Err(BatchRefusal::malformed(LONG_TARGET));
    }
    let mut part = Part {
        method,
        target,
        ..Part::default()
    };
    while let Some((name, value)) = mime_header(&mut rest)? {
        if name.eq_ignore_ascii_case(b"content-id") {
            part.content_id = Some(ContentId::OfOperation(header_value(value)?));
        } else if let Some(slot) = part.slot(name) {
            let value = header_value(value)?;
            let other = slot.replace(value).is_some_and(|other| other != value);
            if other && is_decisive(name) {
                return Err(bad());
            }
        }
    }
    part.body = rest.trim_ascii();
    Ok(part)
}

/// A value that counts. Control characters are in none that means anything, and must not get into an answer's headers.
fn header_value(value: &[u8]) -> Result<&str, BatchRefusal> {
    match std::str::from_utf8(value) {
        Ok(text) if !value.iter().any(u8::is_ascii_control) => Ok(text),
        _ => Err(BatchRefusal::malformed(BAD_PART)),
    }
}

/// Whether the header decides what is done: of two that differ, neither may count alone.
fn is_decisive(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"if-match") || name.eq_ignore_ascii_case(b"x-http-method")
}

/// `POST target HTTP/1.1`. A target may hold blanks that nobody encoded (`(PartitionKey='a', RowKey='b')`).
fn request_line(line: &[u8]) -> Option<(&str, &str)> {
    let line = std::str::from_utf8(line.trim_ascii()).ok()?;
    let (method, rest) = line.split_once(' ')?;
    let target = match rest.rsplit_once(' ') {
        Some((target, version)) if version.starts_with("HTTP/") => target.trim_ascii(),
        _ => rest.trim_ascii(),
    };
    let is_token = method.bytes().all(|byte| byte.is_ascii_alphabetic());
    (is_token && !method.is_empty() && !target.is_empty()).then_some((method, target))
}

impl<'a> Part<'a> {
    /// Where the value of a header goes; `None` for those that do not count.
    fn slot(&mut self, name: &[u8]) -> Option<&mut Option<&'a str>> {
        // The length tells most of the others apart without a comparison.
        let (known, slot): (&[u8], _) = match name.len() {
            6 if name.first().is_some_and(|first| first | 0x20 == b'p') => {
                (b"prefer", &mut self.prefer)
            }
            6 => (b"accept", &mut self.accept),
            8 => (b"if-match", &mut self.if_match),
            12 => (b"content-type", &mut self.content_type),
            13 => (b"x-http-method", &mut self.x_http_method),
            18 => (b"dataserviceversion", &mut self.data_service_version),
            _ => return None,
        };
        name.eq_ignore_ascii_case(known).then_some(slot)
    }
}
