//! Metadata: the pairs of name and value that a client attaches to a queue, in the headers `x-ms-meta-NAME`.

/// Maximum size of all metadata of a resource, names and values together, in bytes (service document "Setting and
/// retrieving properties and metadata").
pub const METADATA_BYTES_MAX: usize = 8 * 1024;

/// The metadata of a queue, in the order in which the client sent it. Names are compared without case.
#[derive(Debug, Clone, Default)]
pub struct Metadata(Vec<(String, String)>);

/// Why a pair was not added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidMetadata {
    /// The name is empty.
    #[error("a metadata name is empty")]
    EmptyName,
    /// The name is not a C# identifier, or occurs twice.
    #[error("a metadata name is not an identifier, or is given twice")]
    Name,
    /// More than [`METADATA_BYTES_MAX`].
    #[error("the metadata is larger than 8 KiB")]
    TooLarge,
}

impl Metadata {
    /// Adds a pair.
    ///
    /// # Errors
    /// [`InvalidMetadata`]; nothing was added.
    pub fn add(&mut self, name: &str, value: &str) -> Result<(), InvalidMetadata> {
        let mut chars = name.chars();
        let first = chars.next().ok_or(InvalidMetadata::EmptyName)?;
        let first_fits = first == '_' || unicode_ident::is_xid_start(first);
        if !first_fits || !chars.all(unicode_ident::is_xid_continue) || self.get(name).is_some() {
            return Err(InvalidMetadata::Name);
        }
        if self.bytes() + name.len() + value.len() > METADATA_BYTES_MAX {
            return Err(InvalidMetadata::TooLarge);
        }
        self.0.push((name.to_owned(), value.to_owned()));
        Ok(())
    }

    /// The value of a name, in any case.
    pub fn get(&self, name: &str) -> Option<&str> {
        let mut pairs = self.iter();
        let found = pairs.find(|(other, _)| other.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value)
    }

    /// The pairs in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The bytes of names and values.
    pub fn bytes(&self) -> usize {
        self.iter()
            .map(|(name, value)| name.len() + value.len())
            .sum()
    }
}

/// Equal if both have the same names, in any case and order, with the same values: the comparison of Create Queue.
impl PartialEq for Metadata {
    fn eq(&self, other: &Self) -> bool {
        let has = |(name, value)| other.get(name) == Some(value);
        self.0.len() == other.0.len() && self.iter().all(has)
    }
}

impl Eq for Metadata {}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(pairs: &[(&str, &str)]) -> Metadata {
        let mut metadata = Metadata::default();
        for (name, value) in pairs {
            metadata.add(name, value).unwrap();
        }
        metadata
    }

    #[test]
    fn equality_ignores_the_order_and_the_case_of_names() {
        let one = metadata(&[("Color", "red"), ("size", "L")]);
        assert_eq!(one, metadata(&[("SIZE", "L"), ("color", "red")]));
        assert_ne!(one, metadata(&[("color", "Red"), ("size", "L")]));
        assert_ne!(one, metadata(&[("color", "red")]));
        assert_eq!(one.get("COLOR"), Some("red"));
    }

    #[test]
    fn invalid_pairs_are_refused() {
        let mut one = metadata(&[("a", "1")]);
        assert_eq!(one.add("", "x"), Err(InvalidMetadata::EmptyName));
        for name in ["A", "1a", "a-b", "a b"] {
            assert_eq!(one.add(name, "x"), Err(InvalidMetadata::Name), "{name}");
        }
        let long = "x".repeat(METADATA_BYTES_MAX - 3);
        assert_eq!(one.add("bb", &long), Err(InvalidMetadata::TooLarge));
        assert_eq!(one.add("b", &long), Ok(()));
        assert_eq!(one.iter().count(), 2);
    }
}
