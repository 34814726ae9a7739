//! With what a client shows who it is.

use futures::future::BoxFuture;
use partita_wire::AccountKey;
use std::fmt;
use std::sync::Arc;

/// Why a provider has no token.
pub type TokenError = Box<dyn std::error::Error + Send + Sync>;

/// Gives bearer tokens (Microsoft Entra ID, or an issuer that a Partita server trusts).
///
/// It is asked once for each attempt, so it has to keep a token until shortly before it expires.
pub trait TokenProvider: fmt::Debug + Send + Sync {
    /// A token that is good now, for the scope `https://storage.azure.com/.default`.
    ///
    /// # Errors
    /// Whatever keeps it from having one: the request fails with it, not sent and not tried again.
    fn token(&self) -> BoxFuture<'_, Result<String, TokenError>>;
}

/// A credential. Its `Debug` form shows no secret.
#[derive(Clone)]
pub enum Credential {
    /// One of the account's two keys signs each request.
    SharedKey {
        /// The account that signs.
        account: String,
        /// Its key.
        key: AccountKey,
    },
    /// A shared access signature: a query string, without `?`.
    Sas(String),
    /// Bearer tokens. They are sent over HTTPS, or to this machine, only.
    Token(Arc<dyn TokenProvider>),
}

impl Credential {
    /// Shared Key, from the key in base64.
    ///
    /// # Errors
    /// [`partita_wire::InvalidAccountKey`].
    pub fn shared_key(
        account: impl Into<String>,
        key: &str,
    ) -> Result<Self, partita_wire::InvalidAccountKey> {
        Ok(Self::SharedKey {
            account: account.into(),
            key: AccountKey::from_base64(key)?,
        })
    }

    /// A shared access signature, with or without its `?`.
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
        }
    }
}
