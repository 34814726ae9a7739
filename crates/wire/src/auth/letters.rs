//! The letters of `sp`, `ss` and `srt`.

/// A set of lower-case letters. Letters that a service does not know grant nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Letters(u32);

impl Letters {
    pub(crate) fn parse(text: &str) -> Self {
        let bit = |byte: u8| {
            if byte.is_ascii_lowercase() {
                1 << (byte - b'a')
            } else {
                0
            }
        };
        Self(text.bytes().fold(0, |set, byte| set | bit(byte)))
    }

    /// Whether every letter of `text` is in the set.
    pub(crate) fn has_all(self, text: &str) -> bool {
        let wanted = Self::parse(text);
        self.0 & wanted.0 == wanted.0
    }

    /// Whether some letter of `text` is in the set.
    pub(crate) fn has_any(self, text: &str) -> bool {
        self.0 & Self::parse(text).0 != 0
    }
}
