//! Connection strings: `Name=value;…`, as the portal, Azurite and the other SDKs write them.
//!
//! | part | meaning |
//! | --- | --- |
//! | `UseDevelopmentStorage=true` | the emulator's account on 127.0.0.1, port 10002, plain HTTP |
//! | `DevelopmentStorageProxyUri` | the emulator's URL without port, instead of `http://127.0.0.1` |
//! | `AccountName`, `AccountKey` | Shared Key |
//! | `SharedAccessSignature` | a shared access signature; ignored if there is an `AccountKey` |
//! | `TableEndpoint`, `TableSecondaryEndpoint` | the endpoints |
//! | `DefaultEndpointsProtocol`, `EndpointSuffix` | parts of the endpoint if there is no `TableEndpoint`; default `https` and `core.windows.net` |
//!
//! Names are case-insensitive. Parts for other services, such as `BlobEndpoint`, are ignored.

use crate::{Credential, Endpoint, InvalidEndpoint};
use partita_wire::InvalidAccountKey;
use thiserror::Error;

/// The emulator's account (document "Use the Azurite emulator").
const EMULATOR_ACCOUNT: &str = "devstoreaccount1";
/// The emulator's key, which is public.
const EMULATOR_KEY: &str =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
/// The emulator's table port.
const EMULATOR_PORT: u16 = 10002;

/// A parsed connection string.
#[derive(Debug, Clone)]
pub struct ConnectionString {
    /// The endpoint of the account.
    pub endpoint: Endpoint,
    /// The read-only secondary endpoint: `TableSecondaryEndpoint`, else [`Endpoint::secondary`].
    pub secondary: Endpoint,
    /// The credential of the account.
    pub credential: Credential,
}

/// The text is not a valid connection string. The error contains no key.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum InvalidConnectionString {
    /// A part without `=`, by its position from 1.
    #[error("part {0} of the connection string is not Name=value")]
    Part(usize),
    /// A duplicate part, by its name.
    #[error("duplicate {0} in the connection string")]
    Twice(String),
    /// Neither `TableEndpoint` nor `AccountName`.
    #[error("the connection string has neither TableEndpoint nor AccountName")]
    NoEndpoint,
    /// An invalid endpoint.
    #[error(transparent)]
    Endpoint(#[from] InvalidEndpoint),
    /// Neither `AccountKey` nor `SharedAccessSignature`.
    #[error("the connection string has neither AccountKey nor SharedAccessSignature")]
    NoCredential,
    /// An invalid `AccountKey`.
    #[error(transparent)]
    Key(#[from] InvalidAccountKey),
}

impl ConnectionString {
    /// Parses a connection string.
    ///
    /// # Errors
    /// [`InvalidConnectionString`] with the invalid or missing part.
    pub fn parse(text: &str) -> Result<Self, InvalidConnectionString> {
        let parts = Parts::read(text)?;
        if parts
            .get("UseDevelopmentStorage")
            .is_some_and(|value| value.eq_ignore_ascii_case("true"))
        {
            let host = parts.get("DevelopmentStorageProxyUri");
            let host = host.unwrap_or("http://127.0.0.1").trim_end_matches('/');
            return Self::parse(&format!(
                "TableEndpoint={host}:{EMULATOR_PORT}/{EMULATOR_ACCOUNT};AccountKey={EMULATOR_KEY}"
            ));
        }
        let account = parts.get("AccountName");
        let endpoint = match (parts.get("TableEndpoint"), account) {
            (Some(url), _) => Endpoint::parse(url)?,
            (None, Some(account)) => {
                let scheme = parts.get("DefaultEndpointsProtocol").unwrap_or("https");
                let suffix = parts.get("EndpointSuffix").unwrap_or("core.windows.net");
                Endpoint::parse(&format!("{scheme}://{account}.table.{suffix}"))?
            }
            (None, None) => return Err(InvalidConnectionString::NoEndpoint),
        };
        let secondary = match parts.get("TableSecondaryEndpoint") {
            Some(url) => Endpoint::parse(url)?,
            None => endpoint.secondary(),
        };
        let credential = match (parts.get("SharedAccessSignature"), parts.get("AccountKey")) {
            (_, Some(key)) => Credential::shared_key(account.unwrap_or(endpoint.account()), key)?,
            (Some(sas), None) => Credential::sas(sas),
            (None, None) => return Err(InvalidConnectionString::NoCredential),
        };
        Ok(Self {
            endpoint,
            secondary,
            credential,
        })
    }
}

/// The parts of a connection string, in their order.
struct Parts<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Parts<'a> {
    fn read(text: &'a str) -> Result<Self, InvalidConnectionString> {
        let mut parts = Self(Vec::new());
        for (index, part) in text.split(';').map(str::trim).enumerate() {
            if part.is_empty() {
                continue;
            }
            // Values may contain '=': keys are base64, signatures are queries.
            let (name, value) = part
                .split_once('=')
                .ok_or(InvalidConnectionString::Part(index + 1))?;
            if parts.get(name).is_some() {
                return Err(InvalidConnectionString::Twice(name.to_owned()));
            }
            parts.0.push((name.trim(), value.trim()));
        }
        Ok(parts)
    }

    /// The value of a part; `None` if it is absent or empty.
    fn get(&self, name: &str) -> Option<&'a str> {
        let mut found = self.0.iter();
        let (_, value) = found.find(|(other, _)| other.eq_ignore_ascii_case(name))?;
        Some(*value).filter(|value| !value.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "AccountKey=a2V5a2V5a2V5a2V5a2V5aw==";

    fn read(text: &str) -> (String, String, String) {
        let read = ConnectionString::parse(text).unwrap();
        (
            read.endpoint.to_string(),
            read.secondary.to_string(),
            format!("{:?}", read.credential),
        )
    }

    #[test]
    fn known_forms() {
        let emulator = "http://127.0.0.1:10002/devstoreaccount1";
        for (text, endpoint, secondary, credential) in [
            (
                "UseDevelopmentStorage=true".to_owned(),
                emulator,
                "http://127.0.0.1:10002/devstoreaccount1-secondary",
                "SharedKey(devstoreaccount1)",
            ),
            (
                "UseDevelopmentStorage=true;DevelopmentStorageProxyUri=http://host/;".to_owned(),
                "http://host:10002/devstoreaccount1",
                "http://host:10002/devstoreaccount1-secondary",
                "SharedKey(devstoreaccount1)",
            ),
            (
                format!(
                    "DefaultEndpointsProtocol=https;AccountName=acct;{KEY};EndpointSuffix=core.windows.net"
                ),
                "https://acct.table.core.windows.net",
                "https://acct-secondary.table.core.windows.net",
                "SharedKey(acct)",
            ),
            (
                format!("AccountName=acct;{KEY}"),
                "https://acct.table.core.windows.net",
                "https://acct-secondary.table.core.windows.net",
                "SharedKey(acct)",
            ),
            (
                format!(
                    "accountname=other;{KEY};TABLEENDPOINT=http://h:1/acct/;TableSecondaryEndpoint=http://s/acct;BlobEndpoint=x"
                ),
                "http://h:1/acct",
                "http://s/acct",
                "SharedKey(other)",
            ),
            (
                "TableEndpoint=https://acct.table.example;SharedAccessSignature=?sv=1&sig=a%3D"
                    .to_owned(),
                "https://acct.table.example",
                "https://acct-secondary.table.example",
                "Sas(…)",
            ),
        ] {
            let expected = (
                endpoint.to_owned(),
                secondary.to_owned(),
                credential.to_owned(),
            );
            assert_eq!(read(&text), expected, "{text}");
        }
    }

    #[test]
    fn a_signature_keeps_its_equals_signs() {
        let text = "TableEndpoint=http://h/a;SharedAccessSignature=sv=1&sig=a==";
        let read = ConnectionString::parse(text).unwrap();
        assert!(matches!(read.credential, Credential::Sas(sas) if sas == "sv=1&sig=a=="));
    }

    #[test]
    fn missing_parts_are_named() {
        use InvalidConnectionString as E;
        let fault = |text: &str| ConnectionString::parse(text).unwrap_err();
        assert_eq!(fault(""), E::NoEndpoint);
        assert_eq!(fault("AccountName=a;junk"), E::Part(2));
        assert_eq!(fault("AccountName=a"), E::NoCredential);
        assert_eq!(fault(KEY), E::NoEndpoint);
        assert_eq!(
            fault("AccountName=a;accountname=b"),
            E::Twice("accountname".to_owned())
        );
        assert!(matches!(fault("AccountName=a;AccountKey=?"), E::Key(_)));
        assert!(matches!(fault("TableEndpoint=h"), E::Endpoint(_)));
        let shown = fault("AccountName=a;AccountKey=secret!").to_string();
        assert!(!shown.contains("secret"), "{shown}");
    }
}
