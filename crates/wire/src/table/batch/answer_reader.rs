//! Reads the answers to the operations of a batch, as slices of the response body.

use super::content_type::boundary;
use super::sections::{Sections, inner_boundary, skip_blank_lines, take_header, take_line};
use partita_model::limits::BATCH_OPERATIONS_MAX;

/// The answer to one operation of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AnswerPart<'a> {
    /// The status, 100 to 599.
    pub status: u16,
    /// `ETag`
    pub etag: Option<&'a str>,
    /// The body, without white space around it.
    pub body: &'a [u8],
}

/// Reads the answer from the value of its `Content-Type` and its body: one part for each operation, or a single part
/// for the failure of the whole batch. `None` for any other body, for more than 100 parts, and for a body without its
/// closing delimiter, which was cut short.
pub fn read_batch_answer<'a>(content_type: &str, body: &'a [u8]) -> Option<Vec<AnswerPart<'a>>> {
    let mut answers = Vec::new();
    for section in sections(boundary(content_type)?, body)? {
        match inner_boundary(section)? {
            Some((boundary, rest)) => {
                for part in sections(boundary, rest)? {
                    answers.push(answer(part)?);
                }
            }
            None => answers.push(answer(section)?),
        }
        if answers.len() > BATCH_OPERATIONS_MAX {
            return None;
        }
    }
    Some(answers)
}

/// The parts between the delimiters; `None` without the closing delimiter.
fn sections<'a>(boundary: &str, body: &'a [u8]) -> Option<Vec<&'a [u8]>> {
    let mut sections = Sections::new(boundary, body);
    let parts: Vec<_> = sections.by_ref().collect();
    sections.is_closed().then_some(parts)
}

/// Reads the headers of a part and the answer in it.
fn answer(section: &[u8]) -> Option<AnswerPart<'_>> {
    let mut rest = section;
    while take_header(&mut rest)?.is_some() {}
    let mut rest = skip_blank_lines(rest);
    let line = std::str::from_utf8(take_line(&mut rest)?).ok()?;
    let mut words = line.split(' ');
    let (version, status) = (words.next()?, words.next()?);
    let status = status
        .parse()
        .ok()
        .filter(|status| (100..600).contains(status))?;
    let mut part = AnswerPart {
        status,
        ..AnswerPart::default()
    };
    while let Some((name, value)) = take_header(&mut rest)? {
        if name.eq_ignore_ascii_case(b"etag") {
            part.etag = Some(std::str::from_utf8(value).ok()?);
        }
    }
    part.body = rest.trim_ascii();
    version.starts_with("HTTP/").then_some(part)
}

#[cfg(test)]
mod tests {
    use super::super::{BatchRequestWriter, BatchWriter, PartOutcome, read_batch};
    use super::*;
    use crate::table::MetadataLevel;
    use crate::testing::occurrence;
    use crate::{ErrorBody, ErrorCode, Failure, Method};
    use partita_model::{DateTime, ETag};
    use proptest::prelude::*;

    const ETAG: ETag = ETag(DateTime::UNIX_EPOCH);

    fn answered(outcomes: &[PartOutcome<'_>]) -> (String, Vec<u8>) {
        let mut writer = BatchWriter::change_set("1", "2", outcomes.len());
        for outcome in outcomes {
            writer.part(None, outcome);
        }
        (writer.content_type(), writer.finish())
    }

    #[test]
    fn answers_of_the_server_are_read() {
        let updated = PartOutcome::Updated {
            prefer: None,
            etag: ETAG,
        };
        let (content_type, body) = answered(&[updated, PartOutcome::Deleted]);
        let parts = read_batch_answer(&content_type, &body).unwrap();
        let etag = ETAG.to_string();
        let expected = [
            AnswerPart {
                status: 204,
                etag: Some(&etag),
                body: b"",
            },
            AnswerPart {
                status: 204,
                etag: None,
                body: b"",
            },
        ];
        assert_eq!(parts, expected);
        for length in 0..body.len() - 2 {
            assert_eq!(
                read_batch_answer(&content_type, &body[..length]),
                None,
                "{length}"
            );
        }
    }

    #[test]
    fn a_failure_is_read_with_its_index() {
        let failure = Failure::new(ErrorCode::EntityAlreadyExists);
        let failed = PartOutcome::Failed {
            prefer: None,
            failure: &failure,
            occurrence: occurrence(3),
            level: MetadataLevel::Minimal,
        };
        let (content_type, body) = answered(&[failed]);
        let parts = read_batch_answer(&content_type, &body).unwrap();
        assert_eq!((parts.len(), parts[0].status), (1, 409));
        let error = ErrorBody::read(parts[0].body).unwrap();
        assert_eq!(error.code, "EntityAlreadyExists");
        assert_eq!(error.split_index().0, Some(3));
    }

    #[test]
    fn the_server_reads_requests_of_the_client() {
        let url = "http://h/a/T(PartitionKey='p',RowKey='r')";
        let mut writer = BatchRequestWriter::new("1", "2", 3, 100);
        writer.part(Method::Post, "http://h/a/T", None, Some(b"{\"A\":1}"));
        writer.part(Method::Put, url, Some("W/\"x\""), Some(b"{}"));
        writer.part(Method::Delete, url, Some("*"), None);
        let (content_type, body) = (writer.content_type(), writer.finish());
        let batch = read_batch(&content_type, &body).unwrap();
        assert!(batch.in_change_set);
        let seen: Vec<_> = batch
            .parts
            .iter()
            .map(|part| {
                (
                    part.method,
                    part.target,
                    part.if_match,
                    part.prefer,
                    part.body,
                )
            })
            .collect();
        assert_eq!(
            seen,
            [
                (
                    "POST",
                    "http://h/a/T",
                    None,
                    Some("return-no-content"),
                    &b"{\"A\":1}"[..]
                ),
                ("PUT", url, Some("W/\"x\""), None, b"{}"),
                ("DELETE", url, Some("*"), None, b""),
            ]
        );
    }

    proptest! {
        #[test]
        fn any_answer_is_read_or_refused(text in "(--b|--c|\r\n|HTTP/1.1 |204|ETag: x|Content-Type: multipart/mixed; boundary=c|-){0,20}") {
            let _ = read_batch_answer("multipart/mixed; boundary=b", text.as_bytes());
        }
    }
}
