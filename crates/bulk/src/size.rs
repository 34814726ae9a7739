//! Sizes of rows: by the service's formula, and in the body of a batch.

use partita_client::Entity;
use partita_model::{Value, utf16_len};

/// Maximum size of a property's JSON without its name and text, in bytes: quotes, colon, comma, the annotation with the
/// longest type name, and a number or Guid.
const PROPERTY_BYTES: u64 = 96;
/// Maximum size of a batch operation without its entity, in bytes: headers, and a URL with a base of up to 512 bytes.
const OPERATION_BYTES: u64 = 1024;

/// The size of an entity in bytes, by the formula for the service's limit of 1 MiB per entity.
pub fn entity_bytes(entity: &Entity) -> u64 {
    let keys = 2 * (utf16_len(entity.partition_key()) + utf16_len(entity.row_key()));
    let properties = entity
        .iter()
        .map(|(name, value)| 8 + 2 * utf16_len(name) + value.as_ref().size_bytes());
    (4 + keys + properties.sum::<usize>()) as u64
}

/// An upper bound for the size of an operation with this entity in the body of a batch, in bytes.
pub fn operation_bytes_max(entity: &Entity) -> u64 {
    // In the URL, a byte of a key takes up to three bytes, and a quote six. In the JSON, the key appears again.
    let keys = [entity.partition_key(), entity.row_key()]
        .map(|key| 6 * key.len() as u64 + json_bytes(key));
    let properties = entity.iter().map(|(name, value)| {
        let text = match value {
            Value::String(text) => json_bytes(text),
            Value::Binary(bytes) => (bytes.len() as u64).div_ceil(3) * 4,
            _ => 0,
        };
        // The name appears twice: before the value, and before the type annotation.
        PROPERTY_BYTES + 2 * json_bytes(name) + text
    });
    OPERATION_BYTES + keys.into_iter().sum::<u64>() + properties.sum::<u64>()
}

/// The length of a text with its JSON escapes, in bytes.
fn json_bytes(text: &str) -> u64 {
    let byte = |byte: u8| match byte {
        0..=0x1F | 0x7F => 6,
        b'"' | b'\\' => 2,
        _ => 1,
    };
    text.bytes().map(byte).sum()
}
