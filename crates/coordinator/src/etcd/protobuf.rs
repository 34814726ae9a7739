//! The bytes of protobuf messages: only what etcd's messages use, which are varints and bytes.

use bytes::{Buf as _, Bytes};

/// Writes a message field by field. Fields with their default value are left out, as protobuf does.
#[derive(Debug, Default)]
pub(super) struct Writer {
    bytes: Vec<u8>,
}

const VARINT: u64 = 0;
const FIXED64: u64 = 1;
const LENGTH_DELIMITED: u64 = 2;
const FIXED32: u64 = 5;

impl Writer {
    /// A number, a boolean or the value of an enumeration.
    pub(super) fn number(self, field: u64, value: u64) -> Self {
        if value == 0 {
            return self;
        }
        self.explicit_number(field, value)
    }

    /// A number of a `oneof`, which is written also if it is 0.
    pub(super) fn explicit_number(mut self, field: u64, value: u64) -> Self {
        self.varint(field << 3 | VARINT);
        self.varint(value);
        self
    }

    /// Bytes or text.
    pub(super) fn bytes(self, field: u64, value: &[u8]) -> Self {
        if value.is_empty() {
            return self;
        }
        self.embedded(field, value)
    }

    /// A message, which is written also if it is empty.
    pub(super) fn message(self, field: u64, message: Self) -> Self {
        self.embedded(field, &message.bytes)
    }

    fn embedded(mut self, field: u64, value: &[u8]) -> Self {
        self.varint(field << 3 | LENGTH_DELIMITED);
        self.varint(value.len() as u64);
        self.bytes.extend_from_slice(value);
        self
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    pub(super) fn finish(self) -> Vec<u8> {
        self.bytes
    }
}

/// A message that cannot be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the message is not valid protobuf")]
pub(super) struct Invalid;

/// The value of a field.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Value {
    Number(u64),
    Bytes(Bytes),
}

impl Value {
    pub(super) fn number(self) -> Result<u64, Invalid> {
        match self {
            Self::Number(number) => Ok(number),
            Self::Bytes(_) => Err(Invalid),
        }
    }

    pub(super) fn bytes(self) -> Result<Bytes, Invalid> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            Self::Number(_) => Err(Invalid),
        }
    }

    pub(super) fn text(self) -> Result<String, Invalid> {
        String::from_utf8(self.bytes()?.into()).map_err(|_| Invalid)
    }
}

/// Calls `each` with the number and value of every field of a message, in order. Fields of other types are skipped.
pub(super) fn fields(
    mut message: Bytes,
    mut each: impl FnMut(u64, Value) -> Result<(), Invalid>,
) -> Result<(), Invalid> {
    while !message.is_empty() {
        let tag = varint(&mut message)?;
        match tag & 7 {
            VARINT => each(tag >> 3, Value::Number(varint(&mut message)?))?,
            LENGTH_DELIMITED => {
                let length = usize::try_from(varint(&mut message)?).map_err(|_| Invalid)?;
                each(tag >> 3, Value::Bytes(take(&mut message, length)?))?;
            }
            FIXED64 => drop(take(&mut message, 8)?),
            FIXED32 => drop(take(&mut message, 4)?),
            _ => return Err(Invalid),
        }
    }
    Ok(())
}

fn take(message: &mut Bytes, length: usize) -> Result<Bytes, Invalid> {
    if length > message.len() {
        return Err(Invalid);
    }
    Ok(message.split_to(length))
}

fn varint(message: &mut Bytes) -> Result<u64, Invalid> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = message.first().copied().ok_or(Invalid)?;
        message.advance(1);
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(Invalid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(message: Vec<u8>) -> Result<Vec<(u64, Value)>, Invalid> {
        let mut read = Vec::new();
        fields(message.into(), |field, value| {
            read.push((field, value));
            Ok(())
        })?;
        Ok(read)
    }

    /// The examples of the description of the encoding.
    #[test]
    fn known_bytes() {
        assert_eq!(
            Writer::default().number(1, 150).finish(),
            [0x08, 0x96, 0x01]
        );
        let text = Writer::default().bytes(2, b"testing");
        assert_eq!(text.finish(), *b"\x12\x07testing");
        let nested = Writer::default().message(3, Writer::default().number(1, 150));
        assert_eq!(nested.finish(), [0x1a, 0x03, 0x08, 0x96, 0x01]);
        assert!(
            Writer::default()
                .number(1, 0)
                .bytes(2, b"")
                .finish()
                .is_empty()
        );
        // Fixed-size fields are skipped.
        let fixed = vec![0x0d, 1, 2, 3, 4, 0x11, 1, 2, 3, 4, 5, 6, 7, 8, 0x18, 7];
        assert_eq!(read(fixed), Ok(vec![(3, Value::Number(7))]));
    }

    #[test]
    fn torn_messages_are_refused() {
        for torn in [
            &[0x08][..],
            &[0x08, 0x80],
            &[0x12, 0x05, 1],
            &[0x0b],
            &[0xff; 11],
            &[0x0d, 1],
        ] {
            assert_eq!(read(torn.to_vec()), Err(Invalid), "{torn:?}");
        }
    }

    proptest! {
        #[test]
        fn fields_are_read_back(number in 1u64.., bytes in prop::collection::vec(any::<u8>(), 1..300)) {
            let written = Writer::default().number(1, number).bytes(300, &bytes).finish();
            let expected = vec![(1, Value::Number(number)), (300, Value::Bytes(bytes.into()))];
            prop_assert_eq!(read(written), Ok(expected));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = read(bytes);
        }
    }
}
