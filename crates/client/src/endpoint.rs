//! URLs of the table endpoints of accounts.

use http::uri::Authority;
use std::fmt;
use thiserror::Error;

/// The URL of an account's table endpoint: in host style, `https://account.table.core.windows.net`, or in path style,
/// `http://127.0.0.1:10002/account`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    https: bool,
    authority: String,
    /// Empty in host style; `/account` in path style.
    path: String,
}

/// The text is not a valid endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0:?} is not a valid endpoint; write http(s)://host[:port][/account]")]
pub struct InvalidEndpoint(pub(crate) String);

impl Endpoint {
    /// Parses `http(s)://host[:port][/account]`; slashes at the end are ignored.
    ///
    /// # Errors
    /// [`InvalidEndpoint`] for any other text. A query is refused too: a signature belongs in a [`crate::Credential`].
    pub fn parse(url: &str) -> Result<Self, InvalidEndpoint> {
        let invalid = || InvalidEndpoint(url.to_owned());
        let (https, rest) = match url.split_once("://").ok_or_else(invalid)? {
            (scheme, rest) if scheme.eq_ignore_ascii_case("https") => (true, rest),
            (scheme, rest) if scheme.eq_ignore_ascii_case("http") => (false, rest),
            _ => return Err(invalid()),
        };
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let path = path.trim_end_matches('/');
        let fits = authority.parse::<Authority>().is_ok() && !authority.contains('@');
        let is_path = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.".contains(&byte);
        if !fits || !path.bytes().all(is_path) {
            return Err(invalid());
        }
        Ok(Self {
            https,
            authority: authority.to_owned(),
            path: path.to_owned(),
        })
    }

    /// The account's name: the first segment of the path or, without a path, the first label of the host, without
    /// `-secondary`.
    #[must_use]
    pub fn account(&self) -> &str {
        let label = match self.path.strip_prefix('/') {
            Some(path) => path.split('/').next(),
            None => self.authority.split(['.', ':']).next(),
        };
        let label = label.unwrap_or_default();
        label.strip_suffix("-secondary").unwrap_or(label)
    }

    /// The read-only secondary endpoint: the service appends `-secondary` to the account's name.
    #[must_use]
    pub fn secondary(&self) -> Self {
        let account = self.account();
        let named = format!("{account}-secondary");
        let mut secondary = self.clone();
        if self.path.is_empty() {
            secondary.authority = self.authority.replacen(account, &named, 1);
        } else {
            secondary.path = self.path.replacen(account, &named, 1);
        }
        secondary
    }

    /// The same account at the server with this URL, in path style. `None` for a URL with another scheme or a path.
    pub(crate) fn at_server(&self, url: &str) -> Option<Self> {
        let server = Self::parse(url).ok()?;
        let fits = server.https == self.https && server.path.is_empty();
        let path = match self.path.is_empty() {
            true => format!("/{}", self.account()),
            false => self.path.clone(),
        };
        fits.then_some(Self { path, ..server })
    }

    /// Whether connections are encrypted.
    #[must_use]
    pub const fn is_https(&self) -> bool {
        self.https
    }

    /// Whether the host is `localhost`, a name below `.localhost`, or a loopback address.
    pub(crate) fn is_loopback(&self) -> bool {
        let host = self.authority.parse::<Authority>();
        host.is_ok_and(|authority| is_loopback(authority.host()))
    }

    /// Host and port, as in the `Host` header.
    pub(crate) fn authority(&self) -> &str {
        &self.authority
    }

    /// The prefix of all request paths: empty or `/account`.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }
}

impl fmt::Display for Endpoint {
    /// The URL, without a trailing slash.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.https { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.authority, self.path)
    }
}

/// Whether a host, written as in a URL, is `localhost`, a name below `.localhost`, or a loopback address. Names are not
/// resolved.
pub(crate) fn is_loopback(host: &str) -> bool {
    let host = host.trim_matches(['[', ']']);
    let address = host.parse::<std::net::IpAddr>();
    let name = host.to_ascii_lowercase();
    name == "localhost"
        || name.ends_with(".localhost")
        || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_styles() {
        for (url, account, secondary) in [
            (
                "https://acct.table.core.windows.net",
                "acct",
                "https://acct-secondary.table.core.windows.net",
            ),
            (
                "http://127.0.0.1:10002/acct",
                "acct",
                "http://127.0.0.1:10002/acct-secondary",
            ),
            (
                "http://[::1]:10002/acct",
                "acct",
                "http://[::1]:10002/acct-secondary",
            ),
        ] {
            let endpoint = Endpoint::parse(&format!("{url}/")).unwrap();
            assert_eq!(endpoint.to_string(), url);
            assert_eq!(endpoint.account(), account);
            assert_eq!(endpoint.secondary().to_string(), secondary);
            assert_eq!(endpoint.secondary().account(), account);
        }
    }

    #[test]
    fn invalid_endpoints_are_refused() {
        for url in [
            "",
            "127.0.0.1:10002/acct",
            "ftp://host/acct",
            "http:///acct",
            "http://user@host/acct",
            "http://host/acct?sv=1",
            "http://host/a b",
        ] {
            assert!(Endpoint::parse(url).is_err(), "{url}");
        }
    }

    #[test]
    fn an_account_has_the_same_name_at_another_server() {
        let at = |given: &str, url: &str| {
            let server = Endpoint::parse(given).unwrap().at_server(url);
            server.map(|server| server.to_string())
        };
        let account = Some("https://10.0.0.8:10002/acct".to_owned());
        assert_eq!(at("https://h/acct", "https://10.0.0.8:10002"), account);
        assert_eq!(
            at("https://acct.table.h", "https://10.0.0.8:10002"),
            account
        );
        assert_eq!(at("https://h/acct", "http://10.0.0.8:10002"), None);
        assert_eq!(at("https://h/acct", "https://10.0.0.8:10002/x"), None);
    }

    #[test]
    fn loopback_is_recognised_by_name_and_address() {
        let is = |url: &str| Endpoint::parse(url).unwrap().is_loopback();
        assert!(is("http://localhost:1/a") && is("http://127.0.0.9/a") && is("http://[::1]:1/a"));
        assert!(!is("http://localhost.example/a") && !is("http://10.0.0.1/a"));
    }
}
