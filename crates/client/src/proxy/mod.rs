//! HTTP proxies between the client and the service.
//!
//! - Requests to `https` endpoints use a `CONNECT` tunnel: the proxy sees host and port only. Requests to `http`
//!   endpoints are forwarded: the proxy sees the complete request, with the absolute URL in the request line.
//! - The environment variables `https_proxy`, `http_proxy` and `all_proxy` select the proxy, `no_proxy` lists hosts
//!   without one. Names in capitals work too; lower case wins. In a CGI program, where `REQUEST_METHOD` is set,
//!   `HTTP_PROXY` is ignored: it holds a client's header `Proxy:`.
//! - A name and a password in the proxy's URL are sent to the proxy as Basic authentication.
//! - The environment does not apply to the local machine, because an emulator on localhost is not behind a proxy. An
//!   explicit proxy is used for all requests.

mod connector;

pub(crate) use connector::Connector;

use crate::endpoint::is_loopback;
use http::{HeaderValue, Uri};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use thiserror::Error;

/// The HTTP proxy of a client. Parses from `none` or a URL of [`ProxyUrl`].
#[derive(Debug, Clone, Default)]
pub enum Proxy {
    /// The proxy of `https_proxy`, `http_proxy` or `all_proxy`, except for hosts in `no_proxy` and for the local
    /// machine.
    #[default]
    Environment,
    /// No proxy.
    Direct,
    /// This proxy, for all endpoints.
    Through(ProxyUrl),
}

/// The URL of an HTTP proxy: `http://host:port` or `https://host:port`, optionally with `name:password@` before the
/// host.
#[derive(Clone)]
pub struct ProxyUrl(Arc<Matcher>, bool);

/// The text is not the URL of an HTTP proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("invalid proxy; write http://host:port, http://name:password@host:port or none")]
pub struct InvalidProxy;

impl FromStr for ProxyUrl {
    type Err = InvalidProxy;

    fn from_str(text: &str) -> Result<Self, InvalidProxy> {
        let uri: Uri = text.parse().map_err(|_| InvalidProxy)?;
        let is_tls = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(InvalidProxy),
        };
        if uri.host().is_none_or(str::is_empty) || !matches!(uri.path(), "" | "/") {
            return Err(InvalidProxy);
        }
        let matcher = Matcher::builder().all(text).build();
        Ok(Self(Arc::new(matcher), is_tls))
    }
}

impl FromStr for Proxy {
    type Err = InvalidProxy;

    /// `none`, or a URL.
    fn from_str(text: &str) -> Result<Self, InvalidProxy> {
        match text {
            "none" => Ok(Self::Direct),
            url => url.parse().map(Self::Through),
        }
    }
}

/// Omits the password.
impl fmt::Debug for ProxyUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Selects the proxy of each destination. The default selects no proxy.
#[derive(Debug, Clone, Default)]
pub(crate) struct Choice {
    matcher: Option<Arc<Matcher>>,
    /// Whether requests to the local machine bypass the proxy.
    bypasses_loopback: bool,
    /// Whether a proxy uses `https`.
    pub(crate) is_tls: bool,
}

impl Choice {
    pub(crate) fn of(proxy: &Proxy) -> Self {
        match proxy {
            Proxy::Environment => Self::of_environment(|name| std::env::var(name).ok()),
            Proxy::Direct => Self::default(),
            Proxy::Through(ProxyUrl(matcher, is_tls)) => Self {
                matcher: Some(Arc::clone(matcher)),
                bypasses_loopback: false,
                is_tls: *is_tls,
            },
        }
    }

    fn of_environment(variable: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name: &str| variable(name).filter(|text| !text.trim().is_empty());
        let either = |name: &str| set(name).or_else(|| set(&name.to_ascii_uppercase()));
        let http = match set("REQUEST_METHOD") {
            Some(_) => set("http_proxy"),
            None => either("http_proxy"),
        };
        let (https, all) = (either("https_proxy"), either("all_proxy"));
        let is_tls = [&http, &https, &all]
            .into_iter()
            .flatten()
            .any(|url| url.starts_with("https://"));
        let matcher = Matcher::builder()
            .http(http.unwrap_or_default())
            .https(https.unwrap_or_default())
            .all(all.unwrap_or_default())
            .no(either("no_proxy").unwrap_or_default())
            .build();
        Self {
            matcher: Some(Arc::new(matcher)),
            bypasses_loopback: true,
            is_tls,
        }
    }

    /// The proxy for a destination; `None` for a direct connection.
    pub(crate) fn for_destination(&self, destination: &Uri) -> Option<Intercept> {
        if self.bypasses_loopback && destination.host().is_some_and(is_loopback) {
            return None;
        }
        self.matcher.as_ref()?.intercept(destination)
    }

    /// The `Proxy-Authorization` of a forwarded request. A tunnel sends its own when it is opened.
    pub(crate) fn authorization(&self, destination: &Uri) -> Option<HeaderValue> {
        if destination.scheme_str() != Some("http") {
            return None;
        }
        let proxy = self.for_destination(destination)?;
        proxy.basic_auth().cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The proxy of a destination in an environment.
    fn proxy(variables: &[(&str, &str)], destination: &str) -> Option<String> {
        let choice = Choice::of_environment(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        });
        let proxy = choice.for_destination(&destination.parse().unwrap());
        proxy.map(|proxy| proxy.uri().to_string())
    }

    #[test]
    fn the_environment_selects_the_proxy() {
        const PLAIN: &str = "http://a.table.example/";
        const TLS: &str = "https://a.table.example/";
        let (one, other) = ("http://one:1", "http://other:2");
        type Case<'c> = (&'c [(&'c str, &'c str)], &'c str, Option<&'c str>);
        let cases: [Case<'_>; 14] = [
            (&[], PLAIN, None),
            (&[("http_proxy", one)], PLAIN, Some("http://one:1/")),
            (&[("http_proxy", one)], TLS, None),
            (&[("HTTP_PROXY", one)], PLAIN, Some("http://one:1/")),
            (&[("HTTPS_PROXY", one)], TLS, Some("http://one:1/")),
            (&[("https_proxy", "one:1")], TLS, Some("http://one:1/")),
            (&[("ALL_PROXY", one)], TLS, Some("http://one:1/")),
            (
                &[("http_proxy", one), ("HTTP_PROXY", other)],
                PLAIN,
                Some("http://one:1/"),
            ),
            (
                &[("http_proxy", ""), ("HTTP_PROXY", other)],
                PLAIN,
                Some("http://other:2/"),
            ),
            // A CGI server puts the client's header `Proxy:` into this variable.
            (
                &[("REQUEST_METHOD", "GET"), ("HTTP_PROXY", one)],
                PLAIN,
                None,
            ),
            (
                &[("REQUEST_METHOD", "GET"), ("http_proxy", one)],
                PLAIN,
                Some("http://one:1/"),
            ),
            (
                &[("https_proxy", one), ("no_proxy", "table.example")],
                TLS,
                None,
            ),
            (&[("https_proxy", one), ("NO_PROXY", "*")], TLS, None),
            (
                &[("https_proxy", one), ("NO_PROXY", "other.example")],
                TLS,
                Some("http://one:1/"),
            ),
        ];
        for (variables, destination, expected) in cases {
            let found = proxy(variables, destination);
            assert_eq!(found.as_deref(), expected, "{variables:?} {destination}");
        }
    }

    #[test]
    fn only_an_explicit_proxy_is_used_for_the_local_machine() {
        for host in [
            "127.0.0.1",
            "127.9.9.9:10002",
            "[::1]:1",
            "localhost",
            "a.table.LOCALHOST",
        ] {
            let url = format!("http://{host}/devstoreaccount1");
            assert_eq!(
                proxy(&[("http_proxy", "http://one:1")], &url),
                None,
                "{url}"
            );
            let explicit = Choice::of(&"http://one:1".parse().unwrap());
            assert!(explicit.for_destination(&url.parse().unwrap()).is_some());
        }
        let direct = Choice::of(&"none".parse().unwrap());
        assert!(
            direct
                .for_destination(&Uri::from_static("http://a/"))
                .is_none()
        );
    }

    #[test]
    fn only_urls_of_http_proxies_are_valid_and_passwords_stay_hidden() {
        for bad in [
            "",
            "one",
            "one:1",
            "socks5://one:1",
            "http://",
            "http://one:1/path",
            "ftp://one",
        ] {
            assert!(bad.parse::<Proxy>().is_err(), "{bad}");
        }
        let proxy: Proxy = "http://miles:keiko@one:1".parse().unwrap();
        let shown = format!("{proxy:?}");
        assert!(
            shown.contains("one:1") && !shown.contains("keiko"),
            "{shown}"
        );
        let choice = Choice::of(&proxy);
        let authorization = choice
            .authorization(&Uri::from_static("http://a/"))
            .unwrap();
        assert_eq!(authorization, "Basic bWlsZXM6a2Vpa28=");
        assert!(authorization.is_sensitive());
        // A tunnel sends the proxy's credential when it is opened. Requests inside the tunnel must not contain that
        // credential.
        assert_eq!(choice.authorization(&Uri::from_static("https://a/")), None);
    }
}
