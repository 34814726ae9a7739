//! What both kinds of shared access signature have in common: times, addresses, protocol, version.

use super::Caller;
use super::key::Signature;
use crate::{ErrorCode, Failure, Query, Version};
use partita_model::DateTime;
use std::borrow::Cow;
use std::net::IpAddr;

/// The parameters that both kinds share, decoded once: the texts are signed as they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Terms<'a> {
    /// `sv`
    pub(super) version: Cow<'a, str>,
    /// `sp`
    pub(super) permissions: Cow<'a, str>,
    /// `st`
    pub(super) start: Cow<'a, str>,
    /// `se`
    pub(super) expiry: Cow<'a, str>,
    /// `sip`
    pub(super) addresses: Cow<'a, str>,
    /// `spr`
    pub(super) protocols: Cow<'a, str>,
    /// `sig`, `None` where the text could not be any signature.
    pub(super) signature: Option<Signature>,
}

impl<'a> Terms<'a> {
    pub(super) fn parse(query: Query<'a>) -> Result<Self, Failure> {
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

    /// The version, if it is not older than the oldest that has this kind of signature.
    pub(super) fn version_since(&self, oldest: Version) -> Result<Version, Failure> {
        Version::parse(&self.version)
            .filter(|version| *version >= oldest)
            .ok_or_else(|| {
                Failure::authentication(
                    "sv is missing or names no version with this kind of signature",
                )
            })
    }

    /// Checks where the request comes from and how.
    pub(super) fn check_caller(&self, caller: &Caller) -> Result<(), Failure> {
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

/// The decoded value of a parameter, empty where there is none: both are signed alike.
pub(super) fn text<'a>(query: Query<'a>, name: &str) -> Result<Cow<'a, str>, Failure> {
    Ok(query.get(name)?.unwrap_or_default())
}

/// Reads `st` or `se`: a date, or a date and time in UTC; `None` where it is empty.
pub(super) fn parse_time(name: &str, text: &str) -> Result<Option<DateTime>, Failure> {
    if text.is_empty() {
        return Ok(None);
    }
    DateTime::parse(text)
        .map(Some)
        .map_err(|_| Failure::authentication(format!("{name} is not a time in UTC")))
}

/// Checks the time a signature is good for. The start is taken at its word: clients set it back against skewed clocks.
pub(super) fn check_times(
    start: Option<DateTime>,
    expiry: DateTime,
    now: DateTime,
) -> Result<(), Failure> {
    if let Some(start) = start.filter(|start| now < *start) {
        return Err(Failure::authentication(format!(
            "the signature is good from {start} on, now it is {now}"
        )));
    }
    if now > expiry {
        return Err(Failure::authentication(format!(
            "the signature was good until {expiry}, now it is {now}"
        )));
    }
    Ok(())
}

fn parse_addresses(text: &str) -> Option<(IpAddr, IpAddr)> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let first: IpAddr = first.trim().parse().ok()?;
    let last: IpAddr = last.trim().parse().ok()?;
    (first.is_ipv4() == last.is_ipv4() && first <= last).then_some((first, last))
}
