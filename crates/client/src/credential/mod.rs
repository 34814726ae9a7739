//! Credentials: Shared Key, shared access signatures and bearer tokens.

mod cached_token;
mod rotating;

pub use cached_token::{CachedToken, Token, TokenFn, TokenSource};
pub use rotating::Rotating;

use futures::future::BoxFuture;
use partita_wire::AccountKey;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// Why a [`TokenProvider`] failed.
pub type TokenError = Box<dyn std::error::Error + Send + Sync>;

/// A source of bearer tokens (Microsoft Entra ID, or an issuer that a Partita server trusts).
///
/// The client calls it once for each attempt, so the provider should cache a token until shortly before it expires, as
/// [`CachedToken`] does.
pub trait TokenProvider: fmt::Debug + Send + Sync {
    /// Returns a valid token for the scope `https://storage.azure.com/.default`, without the prefix `Bearer`. The call
    /// is bounded by [`crate::ClientOptions::attempt_timeout`].
    ///
    /// # Errors
    /// Any [`TokenError`]. The request is not sent and not retried; it fails with [`crate::ErrorKind::Credential`].
    fn token(&self) -> BoxFuture<'_, Result<String, TokenError>>;
}

/// A credential. Its `Debug` form shows no secret.
#[derive(Clone)]
#[non_exhaustive]
pub enum Credential {
    /// Signs each request with one of the account's two keys.
    SharedKey {
        /// The account's name.
        account: String,
        /// The account's key.
        key: AccountKey,
    },
    /// A shared access signature: a query string without the leading `?`.
    Sas(String),
    /// Bearer tokens. They are sent only over HTTPS, or to the local machine.
    Token(Arc<dyn TokenProvider>),
    /// Another of these, which can be replaced while the client uses it.
    Rotating(Rotating),
}

impl Credential {
    /// Shared Key, with the key in base64.
    ///
    /// # Errors
    /// [`partita_wire::InvalidAccountKey`] if `key` is not valid base64 or is empty.
    pub fn shared_key(
        account: impl Into<String>,
        key: &str,
    ) -> Result<Self, partita_wire::InvalidAccountKey> {
        Ok(Self::SharedKey {
            account: account.into(),
            key: AccountKey::from_base64(key)?,
        })
    }

    /// This credential, or the current one of [`Self::Rotating`].
    pub(crate) fn current(&self) -> Cow<'_, Self> {
        match self {
            Self::Rotating(rotating) => Cow::Owned(rotating.get()),
            other => Cow::Borrowed(other),
        }
    }

    /// A shared access signature, with or without the leading `?`.
    #[must_use]
    pub fn sas(query: &str) -> Self {
        Self::Sas(query.trim_start_matches(['?', '&']).to_owned())
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SharedKey { account, .. } => write!(f, "SharedKey({account})"),
            Self::Sas(_) => f.write_str("Sas(…)"),
            Self::Token(provider) => write!(f, "Token({provider:?})"),
            Self::Rotating(rotating) => write!(f, "{rotating:?}"),
        }
    }
}
