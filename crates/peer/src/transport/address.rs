//! Where a peer listens.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// Where a peer listens: `HOST:PORT`, with an IPv6 address in brackets.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    host: Arc<str>,
    port: u16,
}

/// The text is not an address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid address {0:?}: write HOST:PORT, such as 10.0.0.7:10011 or [::1]:10011")]
pub struct InvalidAddress(String);

impl Address {
    /// The host: a name or an address, without brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl FromStr for Address {
    type Err = InvalidAddress;

    fn from_str(text: &str) -> Result<Self, InvalidAddress> {
        let invalid = || InvalidAddress(text.to_owned());
        let (host, port) = text.rsplit_once(':').ok_or_else(invalid)?;
        let port = port.parse().map_err(|_| invalid())?;
        let inside = host
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'));
        // A colon without brackets is a part of an IPv6 address, not the beginning of the port.
        let host = inside.unwrap_or(host);
        if host.is_empty() || (inside.is_none() && host.contains(':')) {
            return Err(invalid());
        }
        Ok(Self {
            host: host.into(),
            port,
        })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(formatter, "[{}]:{}", self.host, self.port)
        } else {
            write!(formatter, "{}:{}", self.host, self.port)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_host_and_port() {
        for (text, host, port) in [
            ("10.0.0.7:10011", "10.0.0.7", 10011),
            ("[::1]:1", "::1", 1),
            ("server-7.example:65535", "server-7.example", 65535),
        ] {
            let address: Address = text.parse().unwrap();
            assert_eq!((address.host(), address.port()), (host, port));
            assert_eq!(address.to_string(), text);
        }
        for text in ["", "host", "host:", ":1", "host:65536", "::1:10011", "[]:1"] {
            let error = text.parse::<Address>().unwrap_err().to_string();
            assert!(error.contains("write HOST:PORT"), "{error}");
        }
    }
}
