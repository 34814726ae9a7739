//! The name of a server in its cluster.

use std::fmt;
use std::sync::Arc;

/// The longest name in bytes.
const BYTES_MAX: usize = 255;

/// What precedes the name in a certificate.
const URI_PREFIX: &str = "partita://server/";

/// The name of a server: 1 to 255 letters, digits and `. : - _ [ ]`, so that `HOST:PORT` is a name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerName(Arc<str>);

/// The text is not a server name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid server name {0:?}: write 1 to 255 letters, digits and . : - _ [ ], such as HOST:PORT"
)]
pub struct InvalidName(String);

impl ServerName {
    /// Checks a name.
    ///
    /// # Errors
    /// [`InvalidName`] for an empty or too long text, and for other characters.
    pub fn new(name: &str) -> Result<Self, InvalidName> {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b".:-_[]".contains(&byte);
        if name.is_empty() || name.len() > BYTES_MAX || !name.bytes().all(is_allowed) {
            return Err(InvalidName(name.chars().take(BYTES_MAX).collect()));
        }
        Ok(Self(name.into()))
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The form in a certificate.
    pub(super) fn uri(&self) -> String {
        format!("{URI_PREFIX}{self}")
    }

    /// Reads the form in a certificate.
    pub(super) fn from_uri(uri: &str) -> Option<Self> {
        Self::new(uri.strip_prefix(URI_PREFIX)?).ok()
    }
}

impl fmt::Display for ServerName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}
