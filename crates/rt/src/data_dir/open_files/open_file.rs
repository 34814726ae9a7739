//! An open file, and reads of its bytes at a position.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use bytes::Bytes;
use object_store::ObjectMeta;

use crate::threads;

/// An open file that nothing changes.
#[derive(Debug)]
pub(super) struct OpenFile {
    file: File,
    meta: ObjectMeta,
}

impl OpenFile {
    pub(super) fn new(file: File, meta: ObjectMeta) -> Self {
        Self { file, meta }
    }

    /// The properties of the file when it was opened.
    pub(super) fn meta(&self) -> &ObjectMeta {
        &self.meta
    }

    /// Reads a part of the file: what the page cache has on this thread, and the rest on a thread for blocking work.
    ///
    /// # Errors
    /// Those of the operating system. `UnexpectedEof` for a file that was cut since it was opened.
    pub(super) async fn read(self: Arc<Self>, range: Range<u64>) -> io::Result<Bytes> {
        let length = range.end.saturating_sub(range.start);
        let length = usize::try_from(length).map_err(io::Error::other)?;
        let mut buffer = vec![0; length];
        let done = read_cached(&self.file, &mut buffer, range.start)?;
        if done < length {
            let reading = threads::spawn_blocking(move || {
                let rest = buffer.get_mut(done..).unwrap_or_default();
                let read = self.file.read_exact_at(rest, range.start + done as u64);
                read.map(|()| buffer)
            });
            buffer = reading.await.map_err(io::Error::other)??;
        }
        Ok(buffer.into())
    }
}

/// Reads what the page cache has, without waiting for the disk. Returns the number of bytes, from the first one on.
#[cfg(target_os = "linux")]
fn read_cached(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    use rustix::io::{Errno, ReadWriteFlags, preadv2};
    let mut parts = [io::IoSliceMut::new(buffer)];
    match preadv2(file, &mut parts, offset, ReadWriteFlags::NOWAIT) {
        Ok(count) => Ok(count),
        // The first byte is not in the page cache, or the file system or the kernel cannot tell.
        Err(Errno::AGAIN | Errno::INTR | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => Ok(0),
        Err(error) => Err(error.into()),
    }
}

/// Other systems cannot tell what their page cache has.
#[cfg(not(target_os = "linux"))]
#[allow(clippy::unnecessary_wraps, reason = "as on Linux")]
fn read_cached(_file: &File, _buffer: &mut [u8], _offset: u64) -> io::Result<usize> {
    Ok(0)
}
