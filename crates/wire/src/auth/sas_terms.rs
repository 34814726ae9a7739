//! The terms that all kinds of shared access signature have: times, addresses, protocol, version. Servers read and
//! check the terms, clients write them.

use super::Caller;
use super::key::{AccountKeys, Signature};
use crate::{ErrorCode, Failure, Query, Version, push_query_parameter};
use partita_model::DateTime;
use std::borrow::Cow;
use std::net::IpAddr;

/// The version of new signatures, which is the one that the Table SDKs use.
const VERSION: (&str, Version) = ("2019-02-02", Version::from_date(20_190_202));

/// The times, addresses and protocols at which a signature is valid.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SasTerms {
    /// The start, in whole seconds. A server whose clock is slow refuses a start time of "now", so omit it or set it
    /// some minutes back.
    pub start: Option<DateTime>,
    /// The expiry, in whole seconds. Only a service signature with a stored policy may omit it.
    pub expiry: Option<DateTime>,
    /// `sip`: an address, or two addresses with `-` between them.
    pub addresses: Option<String>,
    /// Whether to refuse plain HTTP.
    pub https_only: bool,
}

impl SasTerms {
    /// The version of new signatures.
    pub(crate) const VERSION: Version = VERSION.1;

    pub(crate) fn signed<'a>(&'a self, permissions: &'a str) -> SignedTerms<'a> {
        let time = |at: Option<DateTime>| at.map(to_seconds).unwrap_or_default();
        let protocols = if self.https_only {
            "https"
        } else {
            "https,http"
        };
        SignedTerms {
            version: VERSION.0.into(),
            permissions: permissions.into(),
            start: time(self.start).into(),
            expiry: time(self.expiry).into(),
            addresses: self.addresses.as_deref().unwrap_or_default().into(),
            protocols: protocols.into(),
            signature: None,
        }
    }
}

/// The parameters that all kinds have, decoded, because the decoded texts are signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SignedTerms<'a> {
    /// `sv`
    pub(crate) version: Cow<'a, str>,
    /// `sp`
    pub(crate) permissions: Cow<'a, str>,
    /// `st`
    pub(crate) start: Cow<'a, str>,
    /// `se`
    pub(crate) expiry: Cow<'a, str>,
    /// `sip`
    pub(crate) addresses: Cow<'a, str>,
    /// `spr`
    pub(crate) protocols: Cow<'a, str>,
    /// `sig`; `None` if the text cannot be a signature.
    pub(super) signature: Option<Signature>,
}

impl<'a> SignedTerms<'a> {
    pub(crate) fn parse(query: Query<'a>) -> Result<Self, Failure> {
        Ok(Self {
            version: text(query, "sv")?,
            permissions: text(query, "sp")?,
            start: text(query, "st")?,
            expiry: text(query, "se")?,
            addresses: text(query, "sip")?,
            protocols: text(query, "spr")?,
            signature: query
                .get_base64("sig")?
                .and_then(|signature| Signature::from_base64(&signature)),
        })
    }

    /// `sv`, `sp`, `st`, `se`, `sip` and `spr`.
    pub(crate) fn texts(&self) -> [&str; 6] {
        let times = [&self.version, &self.permissions, &self.start, &self.expiry];
        let [sv, sp, st, se] = times.map(|text| &**text);
        [sv, sp, st, se, &self.addresses, &self.protocols]
    }

    /// Whether `sig` is the signature of the joined parts by one of the keys.
    pub(crate) fn is_signed_by(&self, keys: &AccountKeys, parts: &[&str]) -> bool {
        self.signature
            .is_some_and(|signature| keys.verify(parts, &signature))
    }

    /// The version; an error if it is older than `oldest`, the first version with this kind of signature.
    pub(crate) fn version_since(&self, oldest: Version) -> Result<Version, Failure> {
        Version::parse(&self.version)
            .filter(|version| *version >= oldest)
            .ok_or_else(|| {
                Failure::authentication(
                    "sv is missing or is not a version with this kind of signature",
                )
            })
    }

    /// Checks the caller's address and protocol.
    pub(crate) fn check_caller(&self, caller: &Caller) -> Result<(), Failure> {
        match &*self.protocols {
            "" | "https,http" | "http,https" => {}
            "https" if caller.https => {}
            "https" => return Err(ErrorCode::AuthorizationProtocolMismatch.into()),
            _ => {
                return Err(Failure::authentication(
                    "spr is neither https nor https,http",
                ));
            }
        }
        if self.addresses.is_empty() {
            return Ok(());
        }
        let (first, last) = parse_addresses(&self.addresses).ok_or_else(|| {
            Failure::authentication("sip is neither an address nor a range of addresses")
        })?;
        let fits = |address: IpAddr| {
            let address = address.to_canonical();
            address.is_ipv4() == first.is_ipv4() && first <= address && address <= last
        };
        if caller.address.is_some_and(fits) {
            return Ok(());
        }
        let place = caller.address.map_or_else(
            || "unknown".to_owned(),
            |address| address.to_canonical().to_string(),
        );
        Err(Failure::with_message(
            ErrorCode::AuthorizationSourceIpMismatch,
            format!(
                "This request is not authorized to perform this operation using this source IP {place}."
            ),
        ))
    }
}

/// The decoded value of a parameter; empty if the parameter is absent, because an absent and an empty parameter have
/// the same signature.
pub(crate) fn text<'a>(query: Query<'a>, name: &str) -> Result<Cow<'a, str>, Failure> {
    Ok(query.get(name)?.unwrap_or_default())
}

/// Reads the value of `st` or `se`: a date, or a date and time in UTC; `None` if the value is empty.
pub(crate) fn parse_time(name: &str, text: &str) -> Result<Option<DateTime>, Failure> {
    if text.is_empty() {
        return Ok(None);
    }
    DateTime::parse(text)
        .map(Some)
        .map_err(|_| Failure::authentication(format!("{name} is not a time in UTC")))
}

/// Checks that a signature is valid now. The start has no tolerance: clients set it back to allow for clock skew.
pub(crate) fn check_times(
    start: Option<DateTime>,
    expiry: DateTime,
    now: DateTime,
) -> Result<(), Failure> {
    if let Some(start) = start.filter(|start| now < *start) {
        return Err(Failure::authentication(format!(
            "the signature is not valid before {start}; the server's time is {now}"
        )));
    }
    if now > expiry {
        return Err(Failure::authentication(format!(
            "the signature expired at {expiry}; the server's time is {now}"
        )));
    }
    Ok(())
}

/// The query string of the common parameters. Omits empty ones, because an absent parameter has the same signature.
pub(crate) fn push_terms(terms: &SignedTerms<'_>) -> String {
    let mut query = String::with_capacity(256);
    let names = ["sv", "sp", "st", "se", "sip", "spr"];
    push_unless_empty(names.into_iter().zip(terms.texts()), &mut query);
    query
}

/// Appends the parameters that are not empty.
pub(crate) fn push_unless_empty<'a>(
    parameters: impl IntoIterator<Item = (&'a str, &'a str)>,
    query: &mut String,
) {
    for (name, value) in parameters {
        if !value.is_empty() {
            push_query_parameter(name, value, query);
        }
    }
}

/// Formats a time without fractions of a second: `2024-01-02T03:04:05Z`.
fn to_seconds(at: DateTime) -> String {
    let (year, month, day, hour, minute, second, _) = at.fields();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

fn parse_addresses(text: &str) -> Option<(IpAddr, IpAddr)> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let first: IpAddr = first.trim().parse().ok()?;
    let last: IpAddr = last.trim().parse().ok()?;
    (first.is_ipv4() == last.is_ipv4() && first <= last).then_some((first, last))
}
