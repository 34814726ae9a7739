//! Reads the operations of a batch request, as slices of its body.
//!
//! Accepts all dialects of known clients: request lines with an absolute URL, or with a path with or without account;
//! header names in any case; CRLF or LF; extra blank lines; quoted boundaries; a missing `--` at the end; a missing or
//! wrong Content-Length, because a body ends at the delimiter (recordings cosmosdbpython--test_table_batch_*,
//! js--batch_*, gostorage--TableBatchSuite_*, net--TableClientLiveTests_BatchInsert, go--TestBatchComplex).
//!
//! The last part of a change set, and the change set itself, must end with a delimiter: a body without them may have
//! been cut short, and executing only its beginning would break the transaction.
//!
//! The caller checks the parts together: one table, one partition, no entity twice.

use super::content_type::boundary;
use super::sections::{Header, Sections, inner_boundary, skip_blank_lines, take_header, take_line};
use crate::{ErrorCode, Failure};
use partita_model::limits::BATCH_OPERATIONS_MAX;

/// The longest URL of an operation, in bytes: the limit of the head of a separate request, so that a batch does not
/// allow a longer `$select` or `$filter`.
const TARGET_BYTES_MAX: usize = 64 * 1024;

/// The operations of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch<'a> {
    /// The operations in their order; none for an empty change set. [`Self::check_count`] refuses more than 100.
    pub parts: Vec<Part<'a>>,
    /// Whether the operations are in a change set. Otherwise the batch has exactly one operation, a query.
    pub in_change_set: bool,
}

impl Batch<'_> {
    /// Checks that the change set has at most 100 operations.
    ///
    /// # Errors
    /// 400 InvalidInput. Text and index are as recorded: the index is that of the hundredth operation, although the
    /// hundred and first one exceeds the limit.
    pub fn check_count(&self) -> Result<(), BatchRefusal> {
        if self.parts.len() <= BATCH_OPERATIONS_MAX {
            return Ok(());
        }
        let text = "The batch request operation exceeds the maximum 100 changes per change set.";
        Err(BatchRefusal {
            index: Some(BATCH_OPERATIONS_MAX - 1),
            failure: Failure::with_message(ErrorCode::InvalidInput, text),
        })
    }
}

/// One operation of a batch: a request with the headers that have an effect.
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
    /// `Content-Type` of the operation, not of the part around it.
    pub content_type: Option<&'a str>,
    /// `DataServiceVersion`
    pub data_service_version: Option<&'a str>,
    /// `Content-ID`, which the answer repeats in the same place.
    pub content_id: Option<ContentId<'a>>,
    /// The body, without white space around it.
    pub body: &'a [u8],
}

/// A `Content-ID` and its place. The answer repeats it in the same place: recorded answers have an operation's
/// `Content-ID` among the headers of the answer (cosmosdbpython--test_table_batch_test_batch_all_operations_together),
/// but not that of a part (python--test_table_batch_test_batch_all_operations_together).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentId<'a> {
    /// Among the operation's headers.
    OfOperation(&'a str),
    /// Among the headers of the part around the operation.
    OfPart(&'a str),
}

/// A refusal of a batch before its operations are executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchRefusal {
    /// The index of the invalid operation: the answer is a batch with this failure. Without an index, the whole request
    /// fails.
    pub index: Option<usize>,
    /// The failure.
    pub failure: Failure,
}

impl BatchRefusal {
    fn malformed(text: &'static str) -> Self {
        Self {
            index: None,
            failure: Failure::with_message(ErrorCode::InvalidInput, text),
        }
    }
}

const NOT_MULTIPART: &str = "The batch request is not multipart/mixed with a boundary.";
const NO_PARTS: &str = "The batch request holds no operation.";
const LONG_TARGET: &str = "The URL of an operation in the batch request is too long.";
const MIXED: &str = "A batch request holds either one change set or one query.";
const NO_END: &str = "The batch request ends without its closing boundary.";

/// Reads a batch from the value of `Content-Type` and the body, which the caller bounds. Stops after 101 operations of
/// a change set: enough for [`Batch::check_count`] to refuse it.
///
/// # Errors
/// [`BatchRefusal`] without an index, always 400 InvalidInput: the body is not multipart or has no part; a part is not
/// a request; there is more than one change set, more than one query, or a query together with a change set; a boundary
/// is not closed; a URL is too long; an operation has two different values of `If-Match` or of `X-HTTP-Method`.
pub fn read_batch<'a>(content_type: &str, body: &'a [u8]) -> Result<Batch<'a>, BatchRefusal> {
    let boundary = boundary(content_type).ok_or(BatchRefusal::malformed(NOT_MULTIPART))?;
    let mut batch: Option<Batch<'a>> = None;
    let mut sections = Sections::new(boundary, body);
    for section in sections.by_ref().filter(|section| !section.is_empty()) {
        if batch.is_some() {
            return Err(BatchRefusal::malformed(MIXED));
        }
        batch = Some(outer_part(section)?);
    }
    let batch = batch.ok_or(BatchRefusal::malformed(NO_PARTS))?;
    check_end(&sections)?;
    Ok(batch)
}

/// Refuses a body that may have been cut short.
fn check_end(sections: &Sections<'_>) -> Result<(), BatchRefusal> {
    match sections.is_terminated() {
        true => Ok(()),
        false => Err(BatchRefusal::malformed(NO_END)),
    }
}

/// A part of the outer multipart: a change set, or a query.
fn outer_part(section: &[u8]) -> Result<Batch<'_>, BatchRefusal> {
    match inner_boundary(section).ok_or_else(bad_part)? {
        None => Ok(Batch {
            parts: vec![part(section)?],
            in_change_set: false,
        }),
        Some((boundary, rest)) => Ok(Batch {
            parts: change_set(boundary, rest)?,
            in_change_set: true,
        }),
    }
}

fn change_set<'a>(boundary: &str, body: &'a [u8]) -> Result<Vec<Part<'a>>, BatchRefusal> {
    let mut parts = Vec::new();
    let mut sections = Sections::new(boundary, body);
    for section in sections.by_ref().filter(|section| !section.is_empty()) {
        parts.push(part(section)?);
        if parts.len() > BATCH_OPERATIONS_MAX {
            return Ok(parts);
        }
    }
    check_end(&sections)?;
    Ok(parts)
}

fn header<'a>(rest: &mut &'a [u8]) -> Result<Option<Header<'a>>, BatchRefusal> {
    take_header(rest).ok_or_else(bad_part)
}

fn bad_part() -> BatchRefusal {
    BatchRefusal::malformed("A part of the batch request is not an HTTP request.")
}

/// A part's own headers, and the request in it.
fn part(section: &[u8]) -> Result<Part<'_>, BatchRefusal> {
    let mut rest = section;
    let mut id_of_part = None;
    while let Some((name, value)) = header(&mut rest)? {
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
    let mut rest = skip_blank_lines(section);
    let line = take_line(&mut rest).ok_or_else(bad_part)?;
    let (method, target) = request_line(line).ok_or_else(bad_part)?;
    if target.len() > TARGET_BYTES_MAX {
        return Err(BatchRefusal::malformed(LONG_TARGET));
    }
    let mut part = Part {
        method,
        target,
        ..Part::default()
    };
    while let Some((name, value)) = header(&mut rest)? {
        if name.eq_ignore_ascii_case(b"content-id") {
            part.content_id = Some(ContentId::OfOperation(header_value(value)?));
        } else if let Some(slot) = part.slot(name) {
            let value = header_value(value)?;
            let other = slot.replace(value).is_some_and(|other| other != value);
            if other && is_decisive(name) {
                return Err(bad_part());
            }
        }
    }
    part.body = rest.trim_ascii();
    Ok(part)
}

/// The text of a header's value. Control characters are refused, because they must not appear in the headers of an
/// answer.
fn header_value(value: &[u8]) -> Result<&str, BatchRefusal> {
    match std::str::from_utf8(value) {
        Ok(text) if !value.iter().any(u8::is_ascii_control) => Ok(text),
        _ => Err(bad_part()),
    }
}

/// Whether the header changes the effect of the operation, so that two different values are ambiguous.
fn is_decisive(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"if-match") || name.eq_ignore_ascii_case(b"x-http-method")
}

/// Method and target of `POST target HTTP/1.1`. A target may contain unencoded blanks (`(PartitionKey='a',
/// RowKey='b')`).
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
    /// The field for a header's value; `None` for a header without effect.
    fn slot(&mut self, name: &[u8]) -> Option<&mut Option<&'a str>> {
        // The length distinguishes most headers without a comparison.
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
