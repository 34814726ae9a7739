//! How an etcd is reached: the URL of `--coordinator` and the variables `PARTITA_ETCD_*`.

use std::path::PathBuf;

/// The port of etcd's clients.
const PORT: u16 = 2379;

/// How an etcd is reached.
#[derive(Clone, PartialEq, Eq)]
pub struct EtcdConfig {
    /// Hosts and ports of the members.
    pub endpoints: Vec<(String, u16)>,
    /// What all keys begin with.
    pub prefix: String,
    /// TLS, or nothing for plain connections.
    pub tls: Option<EtcdTls>,
    /// User and password.
    pub user: Option<(String, String)>,
}

impl std::fmt::Debug for EtcdConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EtcdConfig")
            .field("endpoints", &self.endpoints)
            .field("prefix", &self.prefix)
            .field("tls", &self.tls)
            .field("user", &self.user.as_ref().map(|(user, _)| user))
            .finish()
    }
}

/// The files of a TLS connection.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct EtcdTls {
    /// A file of trusted authorities in PEM; without one, those of the machine are trusted.
    pub ca: Option<PathBuf>,
    /// The files of the client's certificate and key in PEM.
    pub identity: Option<(PathBuf, PathBuf)>,
}

/// A setting that is not valid.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EtcdConfigError {
    /// The URL.
    #[error(
        "not a valid coordinator: {0}; write etcd://HOST:PORT,HOST:PORT/PREFIX, or etcds:// for TLS"
    )]
    Url(String),
    /// One of two variables that belong together is missing.
    #[error("set both {0} and {1}, or neither")]
    Pair(&'static str, &'static str),
    /// A file of TLS was given for a plain connection.
    #[error("{0} is set, but the coordinator is not etcds://")]
    TlsUnused(&'static str),
}

const USER: &str = "PARTITA_ETCD_USER";
const PASSWORD: &str = "PARTITA_ETCD_PASSWORD";
const CA: &str = "PARTITA_ETCD_CA";
const CERT: &str = "PARTITA_ETCD_CERT";
const KEY: &str = "PARTITA_ETCD_KEY";

impl EtcdConfig {
    /// Reads a URL such as `etcd://h1:2379,h2:2379/prefix`, and the variables that `variable` returns: a user by
    /// `PARTITA_ETCD_USER` and `PARTITA_ETCD_PASSWORD`, the files of TLS by `PARTITA_ETCD_CA`, `PARTITA_ETCD_CERT` and
    /// `PARTITA_ETCD_KEY`.
    ///
    /// # Errors
    /// [`EtcdConfigError`].
    pub fn parse(
        url: &str,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, EtcdConfigError> {
        let invalid = || EtcdConfigError::Url(url.to_owned());
        let (scheme, rest) = url.split_once("://").ok_or_else(invalid)?;
        let tls = match scheme {
            "etcd" => false,
            "etcds" => true,
            _ => return Err(invalid()),
        };
        let (hosts, path) = rest.split_once('/').unwrap_or((rest, ""));
        let endpoints: Option<Vec<_>> = hosts.split(',').map(endpoint).collect();
        let path = path.trim_end_matches('/');
        let prefix = if path.is_empty() { "partita" } else { path };
        Ok(Self {
            endpoints: endpoints.ok_or_else(invalid)?,
            prefix: format!("/{prefix}/"),
            tls: tls_files(tls, &variable)?,
            user: pair(&variable, USER, PASSWORD)?,
        })
    }

    /// The same etcd, for the keys of one store.
    #[must_use]
    pub fn with_store(mut self, store_id: &str) -> Self {
        self.prefix = format!("{}{store_id}/", self.prefix);
        self
    }
}

fn tls_files(
    tls: bool,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Option<EtcdTls>, EtcdConfigError> {
    if !tls {
        let unused = [CA, CERT, KEY]
            .into_iter()
            .find(|name| variable(name).is_some());
        return match unused {
            Some(name) => Err(EtcdConfigError::TlsUnused(name)),
            None => Ok(None),
        };
    }
    let identity = pair(&variable, CERT, KEY)?;
    Ok(Some(EtcdTls {
        ca: variable(CA).map(PathBuf::from),
        identity: identity.map(|(cert, key)| (cert.into(), key.into())),
    }))
}

fn pair(
    variable: impl Fn(&str) -> Option<String>,
    first: &'static str,
    second: &'static str,
) -> Result<Option<(String, String)>, EtcdConfigError> {
    match (variable(first), variable(second)) {
        (Some(one), Some(two)) => Ok(Some((one, two))),
        (None, None) => Ok(None),
        _ => Err(EtcdConfigError::Pair(first, second)),
    }
}

/// Reads `HOST`, `HOST:PORT`, `[ADDRESS]` or `[ADDRESS]:PORT`.
fn endpoint(text: &str) -> Option<(String, u16)> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => text.split_at(text.find(':').unwrap_or(text.len())),
    };
    let port = match port.strip_prefix(':') {
        Some(port) => port.parse().ok().filter(|port| *port != 0)?,
        None if port.is_empty() => PORT,
        None => return None,
    };
    let valid = !host.is_empty() && !host.contains(['@', '?', '#', ' ']);
    valid.then(|| (host.to_owned(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(url: &str) -> Result<EtcdConfig, EtcdConfigError> {
        EtcdConfig::parse(url, |_| None)
    }

    #[test]
    fn urls() {
        let config = plain("etcd://h1,h2:1234,[::1]:5,[fe80::1]/a/b/").unwrap();
        let hosts = [("h1", 2379), ("h2", 1234), ("::1", 5), ("fe80::1", 2379)];
        let expected = hosts.map(|(host, port)| (host.to_owned(), port));
        assert_eq!(config.endpoints, expected);
        assert_eq!(config.prefix, "/a/b/");
        assert_eq!(config.tls, None);
        let default = plain("etcd://h").unwrap().with_store("77");
        assert_eq!(default.prefix, "/partita/77/");
        assert!(plain("etcds://h").unwrap().tls.is_some());
        for invalid in [
            "h:2379",
            "http://h",
            "etcd://",
            "etcd://h,",
            "etcd://h:x",
            "etcd://h:0",
            "etcd://h:1:2",
            "etcd://user@h",
            "etcd://[::1",
            "etcd://[::1]x",
        ] {
            assert!(plain(invalid).is_err(), "{invalid}");
        }
    }

    #[test]
    fn variables() {
        let with = |url: &str, set: &[&str]| {
            EtcdConfig::parse(url, |name| set.contains(&name).then(|| name.to_lowercase()))
        };
        let config = with("etcds://h", &[USER, PASSWORD, CA, CERT, KEY]).unwrap();
        let tls = config.tls.as_ref().unwrap();
        assert_eq!(tls.ca, Some("partita_etcd_ca".into()));
        let identity = ("partita_etcd_cert".into(), "partita_etcd_key".into());
        assert_eq!(tls.identity, Some(identity));
        assert_eq!(config.user.as_ref().unwrap().0, "partita_etcd_user");
        assert!(!format!("{config:?}").contains("partita_etcd_password"));
        let user_only = with("etcd://h", &[USER]);
        assert_eq!(user_only, Err(EtcdConfigError::Pair(USER, PASSWORD)));
        let key_only = with("etcds://h", &[KEY]);
        assert_eq!(key_only, Err(EtcdConfigError::Pair(CERT, KEY)));
        let unused = with("etcd://h", &[CA]);
        assert_eq!(unused, Err(EtcdConfigError::TlsUnused(CA)));
    }
}
