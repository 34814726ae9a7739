//! Pop receipts: opaque texts that a client returns to update or delete a message.

use crate::InvalidPopReceipt;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use partita_model::MessagePosition;
use std::fmt;

/// The position of a message when the receipt was given, and its generation. Every receive and update moves the
/// message, so at most one receipt of a message names the position where it is.
///
/// As text: base64 of 18 bytes, 24 characters as in the service's own receipts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PopReceipt {
    position: MessagePosition,
    generation: u16,
}

impl PopReceipt {
    pub(crate) const fn new(position: MessagePosition, generation: u16) -> Self {
        Self {
            position,
            generation,
        }
    }

    /// Reads the text of a receipt.
    ///
    /// # Errors
    /// [`InvalidPopReceipt`] for any text that is not base64 of 18 bytes.
    pub fn parse(text: &str) -> Result<Self, InvalidPopReceipt> {
        let bytes = STANDARD.decode(text).map_err(|_| InvalidPopReceipt)?;
        let bytes: [u8; 18] = bytes.try_into().map_err(|_| InvalidPopReceipt)?;
        let (visible_from, rest) = bytes.split_first_chunk().ok_or(InvalidPopReceipt)?;
        let (number, rest) = rest.split_first_chunk().ok_or(InvalidPopReceipt)?;
        let (generation, _) = rest.split_first_chunk().ok_or(InvalidPopReceipt)?;
        Ok(Self {
            position: MessagePosition {
                visible_from: u64::from_be_bytes(*visible_from),
                number: u64::from_be_bytes(*number),
            },
            generation: u16::from_be_bytes(*generation),
        })
    }

    pub(crate) const fn position(&self) -> MessagePosition {
        self.position
    }

    pub(crate) const fn generation(&self) -> u16 {
        self.generation
    }
}

impl fmt::Display for PopReceipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = Vec::with_capacity(18);
        bytes.extend_from_slice(&self.position.visible_from.to_be_bytes());
        bytes.extend_from_slice(&self.position.number.to_be_bytes());
        bytes.extend_from_slice(&self.generation.to_be_bytes());
        f.write_str(&STANDARD.encode(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn receipts_round_trip(visible_from: u64, number: u64, generation: u16) {
            let receipt = PopReceipt::new(MessagePosition { visible_from, number }, generation);
            let text = receipt.to_string();
            prop_assert_eq!(text.len(), 24);
            prop_assert_eq!(PopReceipt::parse(&text), Ok(receipt));
        }

        #[test]
        fn parsing_random_text_does_not_panic(text in ".{0,40}") {
            let _ = PopReceipt::parse(&text);
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "invalid",
            "AgAAAAMAAAAAAAAA",
            "AgAAAAMAAAAAAAAAGLr2nZpG2AEq",
        ] {
            assert_eq!(PopReceipt::parse(text), Err(InvalidPopReceipt), "{text}");
        }
    }
}
