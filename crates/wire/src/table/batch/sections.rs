//! Cuts a multipart body at its delimiters, and a part into lines of headers and the rest.
//!
//! Liberal in what clients are known to get wrong: line ends may be LF alone, blank lines may stand before the first delimiter and
//! before headers, and the closing delimiter may lack its `--` or be absent altogether. Strict in the delimiter itself: it begins a
//! line, and is compared exactly.

use memchr::memchr;
use memchr::memmem::Finder;

/// The parts between the delimiters of one boundary.
#[derive(Debug)]
pub(super) struct Sections<'d, 'a> {
    delimiter: &'d [u8],
    /// What every delimiter but one at the very beginning begins with. Line ends before two hyphens are rare in bodies, while
    /// boundaries are made of what ids in bodies are made of, so that searching for the whole costs half as much again.
    line_start: Finder<'static>,
    body: &'a [u8],
    /// Where the next part begins; `None` once there is none.
    next: Option<usize>,
    /// Whether the closing delimiter has been met.
    closed: bool,
}

/// A delimiter line: where it begins, where the next part begins, and whether it is the closing one.
#[derive(Debug, Clone, Copy)]
struct Line {
    start: usize,
    end: usize,
    closes: bool,
}

impl<'d, 'a> Sections<'d, 'a> {
    /// The parts of a body; `delimiter` is the boundary behind two hyphens. What comes before the first delimiter is passed over;
    /// without any there are no parts.
    pub(super) fn new(delimiter: &'d [u8], body: &'a [u8]) -> Self {
        let mut sections = Self {
            delimiter,
            line_start: Finder::new(b"\n--"),
            body,
            next: None,
            closed: false,
        };
        let first = sections.delimiter_line(0);
        sections.meet(first);
        sections
    }

    /// Whether the closing delimiter was there, once there are no more parts: without it, the body may have been cut short.
    pub(super) const fn is_closed(&self) -> bool {
        self.closed
    }

    /// The next part begins behind this line, unless it is the closing one.
    fn meet(&mut self, line: Option<Line>) {
        self.closed = line.is_some_and(|line| line.closes);
        self.next = line.filter(|line| !line.closes).map(|line| line.end);
    }

    /// The first delimiter line at or after a place that begins a line.
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

    /// The delimiter line that begins there.
    fn line_at(&self, start: usize) -> Option<Line> {
        let rest = self.body.get(start..)?.strip_prefix(self.delimiter)?;
        let length = memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
        let tail = rest.get(..length)?.trim_ascii();
        (tail.is_empty() || tail == b"--").then_some(Line {
            start,
            end: start + self.delimiter.len() + length,
            closes: !tail.is_empty(),
        })
    }
}

impl<'a> Iterator for Sections<'_, 'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let start = self.next?;
        let line = self.delimiter_line(start);
        self.meet(line);
        self.body
            .get(start..line.map_or(self.body.len(), |line| line.start))
    }
}

/// The next line without its end; the rest is left. `None` when nothing is left.
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

/// A header line without colon.
#[derive(Debug, Clone, Copy)]
pub(super) struct NoHeader;

/// The next header; `None` after the blank line that ends them, and at the end.
pub(super) fn take_header<'a>(rest: &mut &'a [u8]) -> Result<Option<Header<'a>>, NoHeader> {
    let Some(line) = take_line(rest) else {
        return Ok(None);
    };
    if line.trim_ascii().is_empty() {
        return Ok(None);
    }
    let colon = memchr(b':', line).ok_or(NoHeader)?;
    match (line.get(..colon), line.get(colon + 1..)) {
        (Some(name), Some(value)) => Ok(Some((name.trim_ascii(), value.trim_ascii()))),
        _ => Err(NoHeader),
    }
}

/// The text without blank lines at its beginning.
pub(super) fn skip_blank_lines(text: &[u8]) -> &[u8] {
    let blank = text.iter().take_while(|byte| matches!(byte, b'\r' | b'\n'));
    text.get(blank.count()..).unwrap_or_default()
}
