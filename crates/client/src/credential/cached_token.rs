//! A token provider that caches its token.

use super::{TokenError, TokenProvider};
use crate::clock;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use partita_model::DateTime;
use std::fmt;
use std::time::Duration;
use tokio::sync::Semaphore;

/// How long before its end a token is replaced. It outlasts a request with all its retries, and the skew of clocks.
const RENEW_BEFORE: Duration = Duration::from_secs(300);

/// A bearer token.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    /// The token, without the prefix `Bearer`.
    pub text: String,
    /// When it ends.
    pub expires: DateTime,
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token(… until {})", self.expires)
    }
}

/// Fetches bearer tokens, for [`CachedToken`]: for example, from Microsoft Entra ID or a managed identity.
pub trait TokenSource: fmt::Debug + Send + Sync {
    /// Fetches a new token for the scope `https://storage.azure.com/.default`.
    ///
    /// # Errors
    /// Any [`TokenError`].
    fn fetch(&self) -> BoxFuture<'_, Result<Token, TokenError>>;
}

/// A [`TokenSource`] that is a function: see [`CachedToken::from_fn`].
pub struct TokenFn<F>(F);

impl<F> fmt::Debug for TokenFn<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenFn")
    }
}

impl<F, T> TokenSource for TokenFn<F>
where
    F: Fn() -> T + Send + Sync,
    T: Future<Output = Result<Token, TokenError>> + Send + 'static,
{
    fn fetch(&self) -> BoxFuture<'_, Result<Token, TokenError>> {
        (self.0)().boxed()
    }
}

/// A [`TokenProvider`] that keeps a token until five minutes before its end, and fetches the next one once for all
/// requests. If fetching fails, a token that has not ended is used on.
#[derive(Debug)]
pub struct CachedToken<S> {
    source: S,
    cached: Mutex<Option<Token>>,
    /// One permit: to fetch a token.
    fetching: Semaphore,
}

impl<F> CachedToken<TokenFn<F>> {
    /// A provider that fetches tokens by a function, such as a call of the `get_token` of another library's credential.
    ///
    /// ```
    /// use partita_client::{CachedToken, Credential, Token, now};
    /// use std::sync::Arc;
    /// use std::time::Duration;
    ///
    /// let provider = CachedToken::from_fn(|| async {
    ///     // Here, ask for a token for the scope https://storage.azure.com/.default.
    ///     let expires = now().to_system() + Duration::from_secs(3_600);
    ///     Ok(Token { text: "eyJ0…".to_owned(), expires: expires.into() })
    /// });
    /// let credential = Credential::Token(Arc::new(provider));
    /// # drop(credential);
    /// ```
    #[must_use]
    pub fn from_fn<T>(fetch: F) -> Self
    where
        F: Fn() -> T + Send + Sync,
        T: Future<Output = Result<Token, TokenError>> + Send + 'static,
    {
        Self::new(TokenFn(fetch))
    }
}

impl<S: TokenSource> CachedToken<S> {
    /// A provider without a token; the first request fetches one.
    #[must_use]
    pub fn new(source: S) -> Self {
        Self {
            source,
            cached: Mutex::new(None),
            fetching: Semaphore::new(1),
        }
    }

    /// The cached token if it is valid for `left` or longer.
    fn cached(&self, left: Duration) -> Option<String> {
        let end = DateTime::from_system(clock::now().to_system() + left);
        let cached = self.cached.lock();
        let valid = cached.as_ref().filter(|token| token.expires > end);
        valid.map(|token| token.text.clone())
    }

    async fn current(&self) -> Result<String, TokenError> {
        if let Some(token) = self.cached(RENEW_BEFORE) {
            return Ok(token);
        }
        let _permit = self.fetching.acquire().await?;
        // Another request may have fetched it in the meantime.
        if let Some(token) = self.cached(RENEW_BEFORE) {
            return Ok(token);
        }
        match self.source.fetch().await {
            Ok(token) => {
                let text = token.text.clone();
                *self.cached.lock() = Some(token);
                Ok(text)
            }
            Err(error) => self.cached(Duration::ZERO).ok_or(error),
        }
    }
}

impl<S: TokenSource> TokenProvider for CachedToken<S> {
    fn token(&self) -> BoxFuture<'_, Result<String, TokenError>> {
        self.current().boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::future::join_all;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// A source of tokens that are valid for a time; it fails after some of them.
    #[derive(Debug)]
    struct Source {
        valid: Duration,
        tokens: usize,
        fetched: AtomicUsize,
    }

    impl TokenSource for Source {
        fn fetch(&self) -> BoxFuture<'_, Result<Token, TokenError>> {
            let number = self.fetched.fetch_add(1, Ordering::Relaxed);
            let expires = DateTime::from_system(clock::now().to_system() + self.valid);
            let token = (number < self.tokens).then(|| Token {
                text: format!("t{number}"),
                expires,
            });
            async move {
                // Other requests come before the token.
                tokio::task::yield_now().await;
                token.ok_or_else(|| "no more".into())
            }
            .boxed()
        }
    }

    async fn texts(minutes: u64, tokens: usize, requests: usize) -> (Vec<String>, usize) {
        let cached = CachedToken::new(Source {
            valid: Duration::from_secs(60 * minutes),
            tokens,
            fetched: AtomicUsize::new(0),
        });
        let all = join_all((0..requests).map(|_| cached.token())).await;
        let texts = all.into_iter().map(|token| token.unwrap_or_default());
        (texts.collect(), cached.source.fetched.into_inner())
    }

    #[tokio::test]
    async fn a_token_is_fetched_once_and_used_until_shortly_before_its_end() {
        assert_eq!(texts(60, 9, 3).await, (vec!["t0".to_owned(); 3], 1));
        let each = ["t0", "t1", "t2"].map(str::to_owned).to_vec();
        assert_eq!(texts(4, 9, 3).await, (each, 3));
    }

    #[tokio::test]
    async fn a_function_is_a_source() {
        let cached = CachedToken::from_fn(|| async {
            let expires = DateTime::MAX;
            Ok(Token {
                text: "t".to_owned(),
                expires,
            })
        });
        assert_eq!(cached.token().await.unwrap(), "t");
        assert_eq!(format!("{:?}", cached.source), "TokenFn");
    }

    #[tokio::test]
    async fn a_token_that_cannot_be_replaced_is_used_to_its_end() {
        assert_eq!(texts(4, 1, 2).await, (vec!["t0".to_owned(); 2], 2));
        assert_eq!(
            texts(0, 1, 2).await,
            (vec!["t0".to_owned(), String::new()], 2)
        );
    }
}
