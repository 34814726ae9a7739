//! Short texts on the stack, so that formatting a date, GUID or ETag for each row does not allocate.

use std::fmt;
use std::ops::Deref;

/// An ASCII text of at most `N` bytes, on the stack.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct StackText<const N: usize> {
    bytes: [u8; N],
    len: u8,
}

impl<const N: usize> StackText<N> {
    /// The text of the first `len` of these bytes, which must be ASCII.
    #[inline]
    pub const fn new(bytes: [u8; N], len: usize) -> Self {
        debug_assert!(len <= N && N <= u8::MAX as usize);
        Self {
            bytes,
            len: len as u8,
        }
    }

    /// The text as bytes. Unlike [`str::as_bytes`] after a deref, this does not validate UTF-8 first.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

impl<const N: usize> Deref for StackText<N> {
    type Target = str;

    fn deref(&self) -> &str {
        std::str::from_utf8(self.as_bytes()).expect("the text is ASCII")
    }
}

impl<const N: usize> fmt::Display for StackText<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl<const N: usize> fmt::Debug for StackText<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}
