//! The request target as a whole: its account, the path that is signed, and the query.

use super::hosts::is_host;
use super::{Hosts, Query};
use crate::{ErrorCode, Failure, split};
use memchr::memchr;
use std::borrow::Cow;

/// Where a URL names the account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// `http://127.0.0.1:10002/account/…`
    Path,
    /// `http://account.table.example/…`
    Host,
}

/// A request target that has been taken apart, but not decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target<'a> {
    /// The account addressed, without `-secondary`. It may not exist.
    pub account: Cow<'a, str>,
    /// Whether the read-only secondary endpoint is addressed.
    pub secondary: bool,
    /// Where the account stood.
    pub style: Style,
    /// Host and port as sent.
    pub host: &'a str,
    /// The raw path as on the request line, never empty: what Shared Key signs.
    pub path: &'a str,
    /// The raw path below the account.
    pub rest: &'a str,
    /// The query.
    pub query: Query<'a>,
}

impl<'a> Target<'a> {
    /// Takes apart the target of a request line and the value of `Host`. An absolute target counts more than `Host`
    /// (RFC 9112, 3.2.2). `is_account` is asked about labels of hosts that no suffix settles.
    ///
    /// # Errors
    /// 400 HostInformationNotPresent, InvalidHeaderValue for a `Host` that is none, InvalidUri where no account is named.
    pub fn parse(
        target: &'a str,
        host: Option<&'a str>,
        hosts: &Hosts,
        is_account: impl Fn(&str) -> bool,
    ) -> Result<Self, Failure> {
        let (authority, target) = split_authority(target);
        let host = authority.or(host).filter(|host| !host.is_empty());
        let host = host.ok_or(ErrorCode::HostInformationNotPresent)?;
        if !is_host(host) {
            return Err(Failure::header_value("Host", host));
        }
        let (path, query) = split_query(target);
        if let Some(label) = hosts.account_label(host, is_account) {
            let (account, secondary) = account_of(label);
            return Ok(Self {
                account,
                secondary,
                style: Style::Host,
                host,
                path,
                rest: path,
                query,
            });
        }
        let (label, rest) = first_segment(path);
        if label.is_empty() {
            return Err(ErrorCode::InvalidUri.into());
        }
        let (account, secondary) = account_of(label);
        Ok(Self {
            account,
            secondary,
            style: Style::Path,
            host,
            path,
            rest,
            query,
        })
    }

    /// Takes apart the target of a request inside a batch, which may be absolute, a path with the account, or a path
    /// without it (the old Python client sends that even in path style, recordings cosmosdbpython--test_table_batch_*).
    /// Whatever it says, it stays in the account of the batch: only the batch was authorized.
    #[must_use]
    pub fn parse_inner(target: &'a str, batch: &Target<'a>) -> Self {
        let (_, target) = split_authority(target);
        let (path, query) = split_query(target);
        let (label, below) = first_segment(path);
        let (account, _) = account_of(label);
        // A table may have the account's name: a lone segment is never the account.
        let names_account = batch.style == Style::Path
            && account == batch.account
            && !below.trim_matches('/').is_empty();
        let rest = if names_account { below } else { path };
        Self {
            path,
            rest,
            query,
            ..batch.clone()
        }
    }

    /// Appends the account's URL as the client addressed it, without a slash at its end: the base of every URL in
    /// answers.
    pub fn write_base(&self, scheme: &str, out: &mut String) {
        for part in [scheme, "://", self.host] {
            out.push_str(part);
        }
        if self.style == Style::Path {
            out.push('/');
            out.push_str(&self.account);
            if self.secondary {
                out.push_str("-secondary");
            }
        }
    }
}

/// The authority of an absolute target, and the target without scheme and authority.
fn split_authority(target: &str) -> (Option<&str>, &str) {
    let is_scheme = |scheme: &str| {
        target
            .get(..scheme.len())
            .is_some_and(|text| text.eq_ignore_ascii_case(scheme))
    };
    let Some(scheme) = ["http://", "https://"]
        .into_iter()
        .find(|scheme| is_scheme(scheme))
    else {
        return (None, target);
    };
    let rest = target.get(scheme.len()..).unwrap_or_default();
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at_checked(end).unwrap_or((rest, ""));
    (Some(authority), rest)
}

/// The path, at least `/`, and the query.
fn split_query(target: &str) -> (&str, Query<'_>) {
    let (path, query) = split::once(target, b'?').unwrap_or((target, ""));
    (if path.is_empty() { "/" } else { path }, Query::new(query))
}

/// The first segment that is not empty, and the raw path after it.
pub(crate) fn first_segment(path: &str) -> (&str, &str) {
    let path = path.trim_start_matches('/');
    memchr(b'/', path.as_bytes())
        .and_then(|at| path.split_at_checked(at))
        .unwrap_or((path, ""))
}

/// The account of a label, in lower case, and whether the label means its secondary.
fn account_of(label: &str) -> (Cow<'_, str>, bool) {
    let (name, secondary) = match label.strip_suffix("-secondary") {
        Some(name) => (name, true),
        None => (label, false),
    };
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        (Cow::Owned(name.to_ascii_lowercase()), secondary)
    } else {
        (Cow::Borrowed(name), secondary)
    }
}
