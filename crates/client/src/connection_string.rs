//! Connection strings: `Name=value;…`, as the portal, Azurite and the other SDKs write them.
//!
//! | part | meaning |
//! | --- | --- |
//! | `UseDevelopmentStorage=true` | the emulator's account on 127.0.0.1, plain HTTP: tables at port 10002, queues at 10001 |
//! | `DevelopmentStorageProxyUri` | the emulator's URL without port, instead of `http://127.0.0.1` |
//! | `AccountName`, `AccountKey` | Shared Key |
//! | `SharedAccessSignature` | a shared access signature; ignored if there is an `AccountKey` |
//! | `TableEndpoint`, `TableSecondaryEndpoint` | the endpoints of tables |
//! | `QueueEndpoint`, `QueueSecondaryEndpoint` | the endpoints of queues |
//! | `DefaultEndpointsProtocol`, `EndpointSuffix` | parts of the endpoint without one of these; default `https` and `core.windows.net` |
//!
//! Names are case-insensitive. Parts for other services, such as `BlobEndpoint` for a table client, are ignored.

use crate::{Credential, Endpoint, InvalidEndpoint};
use partita_wire::{InvalidAccountKey, ServiceKind};
use thiserror::Error;

/// The emulator's account (document "Use the Azurite emulator").
const EMULATOR_ACCOUNT: &str = "devstoreaccount1";
/// The emulator's key, which is public.
const EMULATOR_KEY: &str =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
/// A parsed connection string, for one service.
#[derive(Debug, Clone)]
pub struct ConnectionString {
    /// The endpoint of the service in the account.
    pub endpoint: Endpoint,
    /// The read-only secondary endpoint: `TableSecondaryEndpoint` or the like, else [`Endpoint::secondary`].
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
    /// Neither `AccountName` nor the part with the endpoint, by its name, such as `TableEndpoint`.
    #[error("the connection string has neither {0} nor AccountName")]
    NoEndpoint(&'static str),
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

/// How connection strings name a service.
struct ServiceParts {
    endpoint: &'static str,
    secondary: &'static str,
    /// Its port in emulators.
    port: u16,
}

impl ServiceParts {
    const fn of(service: ServiceKind) -> Self {
        let (endpoint, secondary, port) = match service {
            ServiceKind::Table => ("TableEndpoint", "TableSecondaryEndpoint", 10_002),
            ServiceKind::Queue => ("QueueEndpoint", "QueueSecondaryEndpoint", 10_001),
            ServiceKind::Blob => ("BlobEndpoint", "BlobSecondaryEndpoint", 10_000),
        };
        Self {
            endpoint,
            secondary,
            port,
        }
    }
}

impl ConnectionString {
    /// Parses a connection string for the Table service.
    ///
    /// # Errors
    /// As [`Self::parse_for`].
    pub fn parse(text: &str) -> Result<Self, InvalidConnectionString> {
        Self::parse_for(text, ServiceKind::Table)
    }

    /// Parses a connection string for a service.
    ///
    /// # Errors
    /// [`InvalidConnectionString`] with the invalid or missing part.
    pub fn parse_for(text: &str, service: ServiceKind) -> Result<Self, InvalidConnectionString> {
        let names = ServiceParts::of(service);
        let parts = Parts::read(text)?;
        if parts
            .get("UseDevelopmentStorage")
            .is_some_and(|value| value.eq_ignore_ascii_case("true"))
        {
            let host = parts.get("DevelopmentStorageProxyUri");
            let host = host.unwrap_or("http://127.0.0.1").trim_end_matches('/');
            let (name, port) = (names.endpoint, names.port);
            let account = format!("{host}:{port}/{EMULATOR_ACCOUNT};AccountKey={EMULATOR_KEY}");
            return Self::parse_for(&format!("{name}={account}"), service);
        }
        let account = parts.get("AccountName");
        let endpoint = match (parts.get(names.endpoint), account) {
            (Some(url), _) => Endpoint::parse(url)?,
            (None, Some(account)) => {
                let scheme = parts.get("DefaultEndpointsProtocol").unwrap_or("https");
                let suffix = parts.get("EndpointSuffix").unwrap_or("core.windows.net");
                let label = service.label();
                Endpoint::parse(&format!("{scheme}://{account}.{label}.{suffix}"))?
            }
            (None, None) => return Err(InvalidConnectionString::NoEndpoint(names.endpoint)),
        };
        let secondary = match parts.get(names.secondary) {
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
    fn each_service_has_its_parts() {
        let endpoint = |text: &str, service| {
            let read = ConnectionString::parse_for(text, service).unwrap();
            (read.endpoint.to_string(), read.secondary.to_string())
        };
        let of = |endpoint: &str, secondary: &str| (endpoint.to_owned(), secondary.to_owned());
        let both = format!(
            "AccountName=acct;{KEY};TableEndpoint=http://t/acct;QueueEndpoint=http://q/acct;QueueSecondaryEndpoint=http://s/acct"
        );
        let queue = ServiceKind::Queue;
        assert_eq!(endpoint(&both, queue), of("http://q/acct", "http://s/acct"));
        let (tables, _) = endpoint(&both, ServiceKind::Table);
        assert_eq!(tables, "http://t/acct");
        assert_eq!(
            endpoint("UseDevelopmentStorage=true", queue),
            of(
                "http://127.0.0.1:10001/devstoreaccount1",
                "http://127.0.0.1:10001/devstoreaccount1-secondary"
            )
        );
        assert_eq!(
            endpoint(&format!("AccountName=acct;{KEY}"), queue),
            of(
                "https://acct.queue.core.windows.net",
                "https://acct-secondary.queue.core.windows.net"
            )
        );
        let missing =
            ConnectionString::parse_for(&format!("TableEndpoint=http://t/a;{KEY}"), queue);
        assert_eq!(
            missing.unwrap_err().to_string(),
            "the connection string has neither QueueEndpoint nor AccountName"
        );
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
        assert_eq!(fault(""), E::NoEndpoint("TableEndpoint"));
        assert_eq!(fault("AccountName=a;junk"), E::Part(2));
        assert_eq!(fault("AccountName=a"), E::NoCredential);
        assert_eq!(fault(KEY), E::NoEndpoint("TableEndpoint"));
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
