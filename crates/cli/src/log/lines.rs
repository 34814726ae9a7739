//! Lines of an input, as soon as they are there.
//!
//! Reading waits for as long as nobody writes, so it has a thread of its own, which is left behind when the process ends. What one
//! read returns is handed on at once: a slow writer's lines one by one, a fast one's many together.

use crate::error::Failure;
use std::io::{self, BufRead as _, BufReader, Read};
use tokio::sync::mpsc;

/// Longest line, in bytes: more than a property can hold.
const LINE_BYTES_MAX: usize = 1024 * 1024;
/// Bytes of a read.
const READ_BYTES: usize = 64 * 1024;
/// Reads that wait to be taken.
const READS_WAITING: usize = 2;

/// A line and its number, from 1.
pub(crate) type Line = (u64, String);

/// Lines on their way, or why there are no more.
pub(crate) type Lines = mpsc::Receiver<Result<Vec<Line>, Failure>>;

/// Cuts bytes into lines.
#[derive(Debug, Default)]
struct Cutter {
    begun: Vec<u8>,
    number: u64,
}

impl Cutter {
    /// The lines that are complete with these bytes.
    fn take(&mut self, bytes: &[u8]) -> Result<Vec<Line>, Failure> {
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

    /// The last line, if it has no end.
    fn end(&mut self) -> Result<Option<Line>, Failure> {
        if self.begun.is_empty() {
            return Ok(None);
        }
        self.line().map(Some)
    }

    fn add(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        if self.begun.len() + bytes.len() > LINE_BYTES_MAX {
            let number = self.number + 1;
            let what = format!("line {number} of the input is longer than {LINE_BYTES_MAX} bytes");
            return Err(Failure::Usage(what));
        }
        self.begun.extend_from_slice(bytes);
        Ok(())
    }

    fn line(&mut self) -> Result<Line, Failure> {
        self.number += 1;
        let mut bytes = std::mem::take(&mut self.begun);
        if bytes.last() == Some(&b'\r') {
            bytes.pop();
        }
        let number = self.number;
        let invalid = |_| Failure::usage(format!("line {number} of the input is no UTF-8"));
        let line = String::from_utf8(bytes).map_err(invalid)?;
        Ok((number, line))
    }
}

/// The lines of an input, as they come. After a failure there are none.
pub(crate) fn lines(from: impl Read + Send + 'static) -> Result<Lines, Failure> {
    let (lines, taken) = mpsc::channel(READS_WAITING);
    let thread = std::thread::Builder::new().name("input".to_owned());
    thread
        .spawn(move || read(from, &lines))
        .map_err(Failure::Input)?;
    Ok(taken)
}

fn read(from: impl Read, to: &mpsc::Sender<Result<Vec<Line>, Failure>>) {
    let mut from = BufReader::with_capacity(READ_BYTES, from);
    let mut cutter = Cutter::default();
    loop {
        let next = next(&mut from, &mut cutter);
        let is_last = !matches!(next, Ok((_, false)));
        let lines = next.map(|(lines, _)| lines);
        let is_worth_it = lines.as_ref().map_or(true, |lines| !lines.is_empty());
        // Where nobody listens any more, nobody reads on.
        if is_worth_it && to.blocking_send(lines).is_err() || is_last {
            return;
        }
    }
}

/// The lines of one read, and whether it was the last.
fn next(
    from: &mut BufReader<impl Read>,
    cutter: &mut Cutter,
) -> Result<(Vec<Line>, bool), Failure> {
    loop {
        match from.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Failure::Input(error)),
            Ok([]) => return Ok((cutter.end()?.into_iter().collect(), true)),
            Ok(bytes) => {
                let count = bytes.len();
                let lines = cutter.take(bytes)?;
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

    fn cut(chunks: &[&[u8]]) -> Result<Vec<Line>, String> {
        let mut cutter = Cutter::default();
        let mut found = Vec::new();
        for chunk in chunks {
            found.extend(cutter.take(chunk).map_err(|failure| failure.chain())?);
        }
        found.extend(cutter.end().map_err(|failure| failure.chain())?);
        Ok(found)
    }

    proptest! {
        #[test]
        fn lines_do_not_depend_on_how_they_come(
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
            prop_assert_eq!(cut(&chunks).unwrap(), expected);
        }
    }

    #[test]
    fn what_is_no_line_is_said_with_its_number() {
        let refused = cut(&[b"a\n\xFF\n"]).unwrap_err();
        assert!(refused.contains("line 2 of the input is no UTF-8"));
        let long = vec![b'x'; LINE_BYTES_MAX];
        assert_eq!(cut(&[&long, b"\n"]).unwrap().len(), 1);
        let refused = cut(&[b"a\n", &long, b"x\n"]).unwrap_err();
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
