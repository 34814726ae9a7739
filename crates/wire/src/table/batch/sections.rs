//! Splits a multipart body at its delimiters, and a part into headers and body.
//!
//! Accepts the deviations of known clients: lines may end in LF alone, blank lines may stand before the first delimiter
//! and before headers, and the closing delimiter may lack its `--`. The delimiter itself must begin a line and match
//! exactly. A missing closing delimiter is reported to the caller ([`Sections::is_terminated`]).

use super::content_type::boundary;
use memchr::memchr;
use memchr::memmem::Finder;

/// The parts between the delimiters of one boundary.
#[derive(Debug)]
pub(super) struct Sections<'a> {
    /// The boundary after two hyphens.
    delimiter: Vec<u8>,
    /// Searches for a line end and two hyphens, with which every delimiter begins, except one at the beginning of the
    /// body. This sequence is rare elsewhere in bodies. A search for whole delimiters takes 1.5 times as long, because
    /// boundaries resemble the ids in bodies.
    line_start: Finder<'static>,
    body: &'a [u8],
    /// The start of the next part; `None` after the last one.
    next: Option<usize>,
    /// Whether the closing delimiter has been read.
    closed: bool,
    /// Whether a delimiter follows every part read so far.
    terminated: bool,
}

/// A delimiter line: where it begins, where the next part begins, and whether it is the closing one.
#[derive(Debug, Clone, Copy)]
struct Line {
    start: usize,
    end: usize,
    closes: bool,
}

impl<'a> Sections<'a> {
    /// The parts of a body. Text before the first delimiter is ignored; a body without delimiters has no parts.
    pub(super) fn new(boundary: &str, body: &'a [u8]) -> Self {
        let mut sections = Self {
            delimiter: [b"--", boundary.as_bytes()].concat(),
            line_start: Finder::new(b"\n--"),
            body,
            next: None,
            closed: false,
            terminated: false,
        };
        let first = sections.delimiter_line(0);
        sections.terminated = first.is_some();
        sections.meet(first);
        sections
    }

    /// After the last part: whether the body had a closing delimiter. Without it, the body may have been cut short.
    pub(super) const fn is_closed(&self) -> bool {
        self.closed
    }

    /// After the last part: whether a delimiter follows every part, with or without the closing `--`. Without it, the
    /// body may have been cut short. False for a body without delimiters.
    pub(super) const fn is_terminated(&self) -> bool {
        self.terminated
    }

    /// Starts the next part after this line, unless it is the closing delimiter.
    fn meet(&mut self, line: Option<Line>) {
        self.closed = line.is_some_and(|line| line.closes);
        self.next = line.filter(|line| !line.closes).map(|line| line.end);
    }

    /// The first delimiter line at or after `from`, which begins a line.
    fn delimiter_line(&self, from: usize) -> Option<Line> {
        let mut start = from;
        loop {
            if let Some(line) = self.line_at(start) {
                return Some(line);
            }
            let rest = self.body.get(start..)?;
            start += self.line_start.find(rest)? + 1;
        }
    }

    /// The delimiter line that begins at `start`.
    fn line_at(&self, start: usize) -> Option<Line> {
        let rest = self
            .body
            .get(start..)?
            .strip_prefix(self.delimiter.as_slice())?;
        let length = memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
        let tail = rest.get(..length)?.trim_ascii();
        (tail.is_empty() || tail == b"--").then_some(Line {
            start,
            end: start + self.delimiter.len() + length,
            closes: !tail.is_empty(),
        })
    }
}

impl<'a> Iterator for Sections<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let start = self.next?;
        let line = self.delimiter_line(start);
        self.meet(line);
        let end = line.map_or(self.body.len(), |line| line.start);
        let section = skip_blank_lines(self.body.get(start..end)?);
        self.terminated = line.is_some() || section.is_empty();
        Some(section)
    }
}

/// Takes the next line, without its end; `None` at the end of the text.
pub(super) fn take_line<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    if rest.is_empty() {
        return None;
    }
    let (line, after) = match memchr(b'\n', rest) {
        Some(end) => (rest.get(..end)?, rest.get(end + 1..)?),
        None => (*rest, &[][..]),
    };
    *rest = after;
    Some(line.strip_suffix(b"\r").unwrap_or(line))
}

/// A header's name and value.
pub(super) type Header<'a> = (&'a [u8], &'a [u8]);

/// Takes the next header; `Some(None)` after the last one, `None` for a line without a colon.
pub(super) fn take_header<'a>(rest: &mut &'a [u8]) -> Option<Option<Header<'a>>> {
    let line = take_line(rest).unwrap_or_default();
    if line.trim_ascii().is_empty() {
        return Some(None);
    }
    let colon = memchr(b':', line)?;
    let (name, value) = (line.get(..colon)?, line.get(colon + 1..)?);
    Some(Some((name.trim_ascii(), value.trim_ascii())))
}

/// The boundary of a part that is a multipart itself, and the text after its headers; `Some(None)` for any other part,
/// `None` for a header line without a colon.
pub(super) fn inner_boundary(section: &[u8]) -> Option<Option<(&str, &[u8])>> {
    let (mut rest, mut found) = (section, None);
    while let Some((name, value)) = take_header(&mut rest)? {
        if name.eq_ignore_ascii_case(b"content-type") {
            found = std::str::from_utf8(value).ok().and_then(boundary);
        }
    }
    Some(found.map(|boundary| (boundary, rest)))
}

/// The text without its leading blank lines.
pub(super) fn skip_blank_lines(text: &[u8]) -> &[u8] {
    let blank = text.iter().take_while(|byte| matches!(byte, b'\r' | b'\n'));
    text.get(blank.count()..).unwrap_or_default()
}
