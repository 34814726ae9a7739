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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::code;
    use partita_model::METADATA_BYTES_MAX;
    use proptest::prelude::*;

    /// The headers of an official client (azure-storage-queue 12.18.1): the stray `x-ms-meta` is not a pair.
    #[test]
    fn pairs_are_read_from_headers() {
        let metadata = read_metadata([
            ("x-ms-meta", ""),
            ("X-MS-Meta-A", " b "),
            ("x-ms-metadata-x", "1"),
            ("x-ms-meta-c", "two words"),
            ("é", ""),
        ])
        .unwrap();
        let pairs: Vec<_> = metadata_headers(&metadata).collect();
        let expected = [("x-ms-meta-A", "b"), ("x-ms-meta-c", "two words")];
        assert_eq!(
            pairs,
            expected.map(|(name, value)| (name.to_owned(), value))
        );
    }

    #[test]
    fn invalid_pairs_are_refused() {
        let one = |name: &str, value: &str| code(read_metadata([(name, value)]));
        assert_eq!(one("x-ms-meta-", "x"), ErrorCode::EmptyMetadataKey);
        assert_eq!(one("x-ms-meta-a-b", "x"), ErrorCode::InvalidMetadata);
        assert_eq!(one("x-ms-meta-1", "x"), ErrorCode::InvalidMetadata);
        assert_eq!(one("x-ms-meta-a", "ä"), ErrorCode::InvalidMetadata);
        let twice = read_metadata([("x-ms-meta-a", "1"), ("x-ms-meta-A", "1")]);
        assert_eq!(code(twice), ErrorCode::InvalidMetadata);
        let long = "x".repeat(METADATA_BYTES_MAX);
        assert_eq!(one("x-ms-meta-a", &long), ErrorCode::MetadataTooLarge);
    }

    proptest! {
        #[test]
        fn metadata_round_trips(pairs in proptest::collection::btree_map("[a-z_][a-z0-9_]{0,5}", "[!-~]([ -~]{0,9}[!-~])?", 0..5)) {
            let mut metadata = Metadata::default();
            for (name, value) in &pairs {
                metadata.add(name, value).unwrap();
            }
            let headers: Vec<_> = metadata_headers(&metadata).collect();
            let read = read_metadata(headers.iter().map(|(name, value)| (name.as_str(), *value)));
            prop_assert_eq!(read, Ok(metadata.clone()));
        }

        #[test]
        fn any_headers_are_read_or_refused(name: String, value: String) {
            let _ = read_metadata([(name.as_str(), value.as_str())]);
            let _ = read_metadata([(format!("x-ms-meta-{name}").as_str(), value.as_str())]);
        }
    }
}
