//! Metadata of queues in headers (service document "Setting and retrieving properties and metadata for Queue service
//! resources").

use crate::{ErrorCode, Failure};
use partita_model::{InvalidMetadata, Metadata};

/// The beginning of the names of headers with metadata.
pub const METADATA_PREFIX: &str = "x-ms-meta-";

/// Reads the metadata from all headers of a request: pairs of name, in any case, and value. Other headers are ignored,
/// also `x-ms-meta`, which the Python client sends.
///
/// # Errors
/// 400 EmptyMetadataKey, InvalidMetadata, also for a value that is not ASCII, MetadataTooLarge.
pub fn read_metadata<'h>(
    headers: impl IntoIterator<Item = (&'h str, &'h str)>,
) -> Result<Metadata, Failure> {
    let mut metadata = Metadata::default();
    for (header, value) in headers {
        let Some((prefix, name)) = header.split_at_checked(METADATA_PREFIX.len()) else {
            continue;
        };
        if !prefix.eq_ignore_ascii_case(METADATA_PREFIX) {
            continue;
        }
        let value = value.trim();
        if !value
            .bytes()
            .all(|byte| matches!(byte, b'\t' | b' '..=b'~'))
        {
            return Err(ErrorCode::InvalidMetadata.into());
        }
        metadata.add(name, value).map_err(invalid_metadata)?;
    }
    Ok(metadata)
}

/// The failure for a pair that cannot be added.
pub fn invalid_metadata(error: InvalidMetadata) -> Failure {
    match error {
        InvalidMetadata::EmptyName => ErrorCode::EmptyMetadataKey.into(),
        InvalidMetadata::Name => ErrorCode::InvalidMetadata.into(),
        InvalidMetadata::TooLarge => ErrorCode::MetadataTooLarge.into(),
    }
}

/// The headers with the metadata: names and values.
pub fn metadata_headers(metadata: &Metadata) -> impl Iterator<Item = (String, &str)> {
    metadata
        .iter()
        .map(|(name, value)| (format!("{METADATA_PREFIX}{name}"), value))
}
