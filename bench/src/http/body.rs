//! Reads a body of known length or in chunks, from pieces of any size.

use anyhow::bail;

use super::head::BodyLength;

/// The position of the reader in the body, with the bytes left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BodyState {
    /// In content of known length.
    Fixed(u64),
    /// In the hexadecimal size of a chunk, with the value so far.
    ChunkSize(u64),
    /// In the rest of a size line, with the size of the chunk.
    ChunkLine(u64),
    /// In the content of a chunk.
    ChunkData(u64),
    /// In the line end after a chunk's content.
    ChunkEnd,
    /// In the lines after the last chunk; true while the current line is empty.
    Trailer(bool),
    Done,
}

/// A body being read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BodyReader {
    state: BodyState,
    content_bytes: u64,
}

impl BodyReader {
    /// A reader at the start of a body.
    pub(crate) fn new(length: BodyLength) -> Self {
        let state = match length {
            BodyLength::Bytes(0) => BodyState::Done,
            BodyLength::Bytes(bytes) => BodyState::Fixed(bytes),
            BodyLength::Chunked => BodyState::ChunkSize(0),
        };
        Self {
            state,
            content_bytes: 0,
        }
    }

    /// Whether the whole body was read.
    pub(crate) fn is_done(&self) -> bool {
        self.state == BodyState::Done
    }

    /// Bytes of content (without chunk framing) read so far.
    pub(crate) fn content_bytes(&self) -> u64 {
        self.content_bytes
    }

    /// Takes the bytes of this body from the front of `input`, passes content to `sink`, and returns the number of
    /// bytes taken.
    ///
    /// # Errors
    /// When the chunk framing is broken.
    pub(crate) fn feed(
        &mut self,
        input: &[u8],
        mut sink: impl FnMut(&[u8]),
    ) -> anyhow::Result<usize> {
        let mut rest = input;
        while !rest.is_empty() && self.state != BodyState::Done {
            if let BodyState::Fixed(left) | BodyState::ChunkData(left) = self.state {
                let take = usize::try_from(left).unwrap_or(usize::MAX).min(rest.len());
                let (content, after) = rest.split_at(take);
                sink(content);
                rest = after;
                self.content_bytes += take as u64;
                let left = left - take as u64;
                self.state = match self.state {
                    BodyState::Fixed(_) if left == 0 => BodyState::Done,
                    BodyState::Fixed(_) => BodyState::Fixed(left),
                    _ if left == 0 => BodyState::ChunkEnd,
                    _ => BodyState::ChunkData(left),
                };
            } else if let Some((&byte, after)) = rest.split_first() {
                rest = after;
                self.state = self.framing(byte)?;
            }
        }
        Ok(input.len() - rest.len())
    }

    /// The state after one byte of chunk framing.
    fn framing(&self, byte: u8) -> anyhow::Result<BodyState> {
        Ok(match (self.state, byte) {
            (BodyState::ChunkSize(size), b'\r' | b';') => BodyState::ChunkLine(size),
            (BodyState::ChunkSize(size), _) => {
                let Some(digit) = char::from(byte).to_digit(16) else {
                    bail!("chunk size is not hexadecimal");
                };
                if size >> 40 != 0 {
                    bail!("chunk larger than a terabyte");
                }
                BodyState::ChunkSize(size * 16 + u64::from(digit))
            }
            (BodyState::ChunkLine(0), b'\n') => BodyState::Trailer(true),
            (BodyState::ChunkLine(size), b'\n') => BodyState::ChunkData(size),
            (BodyState::ChunkEnd, b'\n') => BodyState::ChunkSize(0),
            (BodyState::Trailer(true), b'\n') => BodyState::Done,
            (BodyState::Trailer(_), b'\n') => BodyState::Trailer(true),
            (BodyState::Trailer(empty), b'\r') => BodyState::Trailer(empty),
            (BodyState::Trailer(_), _) => BodyState::Trailer(false),
            (state, _) => state,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(length: BodyLength, input: &[u8], piece: usize) -> (Vec<u8>, usize, bool) {
        let mut reader = BodyReader::new(length);
        let (mut content, mut used) = (Vec::new(), 0);
        for part in input.chunks(piece) {
            used += reader
                .feed(part, |bytes| content.extend_from_slice(bytes))
                .unwrap();
        }
        assert_eq!(reader.content_bytes(), content.len() as u64);
        (content, used, reader.is_done())
    }

    #[test]
    fn reads_chunks_split_at_any_byte() {
        let input = b"5\r\nhello\r\n6;x=y\r\n world\r\n0\r\nTrailer: 1\r\n\r\nHTTP";
        for piece in 1..input.len() {
            let (content, used, done) = read(BodyLength::Chunked, input, piece);
            assert_eq!(content, b"hello world");
            assert_eq!(used, input.len() - 4, "pieces of {piece}");
            assert!(done);
        }
    }

    #[test]
    fn reads_known_length_and_leaves_the_rest() {
        let (content, used, done) = read(BodyLength::Bytes(3), b"abcdef", 2);
        assert_eq!((content.as_slice(), used, done), (&b"abc"[..], 3, true));
        assert!(!read(BodyLength::Bytes(9), b"abc", 1).2);
        assert!(read(BodyLength::Bytes(0), b"", 1).2);
    }

    #[test]
    fn refuses_broken_framing() {
        let mut reader = BodyReader::new(BodyLength::Chunked);
        assert!(reader.feed(b"xyz\r\n", |_| ()).is_err());
    }
}
