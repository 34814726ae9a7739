//! Reads the lines of an input as soon as they arrive.
//!
//! Reading blocks until there is input, so it has its own thread, which ends with the process. The lines of one read
//! are sent together: few from a slow writer, many from a fast one.

use crate::error::CommandError;
use std::io::{self, BufRead as _, BufReader, Read};
use tokio::sync::mpsc;

/// Maximum length of a line in bytes; a property holds less.
const LINE_BYTES_MAX: usize = 1024 * 1024;
/// Maximum number of bytes of one read.
const READ_BYTES: usize = 64 * 1024;
/// Maximum number of reads whose lines wait for the receiver.
const READS_WAITING: usize = 2;

/// A line and its number, from 1.
pub(crate) type Line = (u64, String);

/// Receives lines, and at the end an error if reading failed.
pub(crate) type Lines = mpsc::Receiver<Result<Vec<Line>, CommandError>>;

/// Splits bytes into lines.
#[derive(Debug, Default)]
struct LineSplitter {
    /// The beginning of a line that is not complete.
    partial: Vec<u8>,
    number: u64,
}

impl LineSplitter {
    /// The lines that these bytes complete.
    fn push(&mut self, bytes: &[u8]) -> Result<Vec<Line>, CommandError> {
        let mut lines = Vec::new();
        let mut rest = bytes;
        while let Some(at) = rest.iter().position(|byte| *byte == b'\n') {
            let (line, after) = rest.split_at(at);
            self.add(line)?;
            lines.push(self.line()?);
            rest = after.get(1..).unwrap_or_default();
        }
        self.add(rest)?;
        Ok(lines)
    }

    /// The last line, if it has no line end.
    fn finish(&mut self) -> Result<Option<Line>, CommandError> {
        if self.partial.is_empty() {
            return Ok(None);
        }
        self.line().map(Some)
    }

    fn add(&mut self, bytes: &[u8]) -> Result<(), CommandError> {
        if self.partial.len() + bytes.len() > LINE_BYTES_MAX {
            let number = self.number + 1;
            let what = format!("line {number} of the input is longer than {LINE_BYTES_MAX} bytes");
            return Err(CommandError::Usage(what));
        }
        self.partial.extend_from_slice(bytes);
        Ok(())
    }

    fn line(&mut self) -> Result<Line, CommandError> {
        self.number += 1;
        let mut bytes = std::mem::take(&mut self.partial);
        if bytes.last() == Some(&b'\r') {
            bytes.pop();
        }
        let number = self.number;
        let invalid =
            |_| CommandError::usage(format!("line {number} of the input is not valid UTF-8"));
        let line = String::from_utf8(bytes).map_err(invalid)?;
        Ok((number, line))
    }
}

/// The lines of an input, as they arrive. An error is the last item.
pub(crate) fn lines(from: impl Read + Send + 'static) -> Result<Lines, CommandError> {
    let (lines, taken) = mpsc::channel(READS_WAITING);
    let thread = std::thread::Builder::new().name("input".to_owned());
    thread
        .spawn(move || read(from, &lines))
        .map_err(CommandError::Input)?;
    Ok(taken)
}

fn read(from: impl Read, to: &mpsc::Sender<Result<Vec<Line>, CommandError>>) {
    let mut from = BufReader::with_capacity(READ_BYTES, from);
    let mut splitter = LineSplitter::default();
    loop {
        let next = next(&mut from, &mut splitter);
        let is_last = !matches!(next, Ok((_, false)));
        let lines = next.map(|(lines, _)| lines);
        let has_content = lines.as_ref().map_or(true, |lines| !lines.is_empty());
        // Reading stops when the receiver is dropped.
        if has_content && to.blocking_send(lines).is_err() || is_last {
            return;
        }
    }
}

/// The lines of one read, and whether it was the last.
fn next(
    from: &mut BufReader<impl Read>,
    splitter: &mut LineSplitter,
) -> Result<(Vec<Line>, bool), CommandError> {
    loop {
        match from.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(CommandError::Input(error)),
            Ok([]) => return Ok((splitter.finish()?.into_iter().collect(), true)),
            Ok(bytes) => {
                let count = bytes.len();
                let lines = splitter.push(bytes)?;
                from.consume(count);
                return Ok((lines, false));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn split(chunks: &[&[u8]]) -> Result<Vec<Line>, String> {
        let mut splitter = LineSplitter::default();
        let mut found = Vec::new();
        for chunk in chunks {
            found.extend(splitter.push(chunk).map_err(|error| error.chain())?);
        }
        found.extend(splitter.finish().map_err(|error| error.chain())?);
        Ok(found)
    }

    proptest! {
        #[test]
        fn lines_do_not_depend_on_the_size_of_reads(
            text in "([aé]|\r?\n){0,40}",
            sizes in proptest::collection::vec(1..9_usize, 1..40),
        ) {
            let expected: Vec<Line> = (1..).zip(text.lines().map(str::to_owned)).collect();
            let mut rest = text.as_bytes();
            let mut chunks = Vec::new();
            for size in sizes {
                let (chunk, after) = rest.split_at(size.min(rest.len()));
                chunks.push(chunk);
                rest = after;
            }
            chunks.push(rest);
            prop_assert_eq!(split(&chunks).unwrap(), expected);
        }
    }

    #[test]
    fn errors_name_the_line() {
        let refused = split(&[b"a\n\xFF\n"]).unwrap_err();
        assert!(refused.contains("line 2 of the input is not valid UTF-8"));
        let long = vec![b'x'; LINE_BYTES_MAX];
        assert_eq!(split(&[&long, b"\n"]).unwrap().len(), 1);
        let refused = split(&[b"a\n", &long, b"x\n"]).unwrap_err();
        assert!(
            refused.contains("line 2 of the input is longer"),
            "{refused}"
        );
    }

    #[test]
    fn an_input_is_read_to_its_end() {
        let mut lines = lines(&b"a\nb\r\n\nc"[..]).unwrap();
        let mut found = Vec::new();
        while let Some(more) = lines.blocking_recv() {
            found.extend(more.unwrap());
        }
        let expected = [(1, "a"), (2, "b"), (3, ""), (4, "c")];
        assert_eq!(
            found,
            expected.map(|(number, line)| (number, line.to_owned()))
        );
    }
}
