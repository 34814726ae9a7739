//! Sets of letters, as in the SAS parameters `sp`, `ss` and `srt`.

/// A set of lower-case letters. Letters without a meaning in a service grant nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Letters(u32);

impl Letters {
    /// The letters of a set of bits.
    pub(crate) const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// The set as bits: bit 0 is `a`.
    pub(crate) const fn bits(self) -> u32 {
        self.0
    }

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

    /// Whether every letter of one of the texts is in the set.
    pub(crate) fn has_all_of_one(self, texts: &[&str]) -> bool {
        texts.iter().any(|text| self.has_all(text))
    }
}
