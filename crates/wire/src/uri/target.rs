//! Splits a request target into account, path and query.

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

/// The parts of a request target, not decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target<'a> {
    /// The addressed account, without `-secondary`. It need not exist.
    pub account: Cow<'a, str>,
    /// Whether the request addresses the read-only secondary endpoint.
    pub secondary: bool,
    /// Where the URL names the account.
    pub style: Style,
    /// Host and port as sent.
    pub host: &'a str,
    /// The raw path of the request line, which Shared Key signs; never empty.
    pub path: &'a str,
    /// The raw path after the account.
    pub rest: &'a str,
    /// The query.
    pub query: Query<'a>,
}

impl<'a> Target<'a> {
    /// Splits the target of a request line, given the value of `Host`. An absolute target takes precedence over `Host`
    /// (RFC 9112, 3.2.2). `is_account` decides whether the first label of a host without a known suffix is an account.
    ///
    /// # Errors
    /// 400 HostInformationNotPresent, InvalidHeaderValue for an invalid `Host`, InvalidUri without an account.
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
        let (style, label, rest) = match hosts.account_label(host, is_account) {
            Some(label) => (Style::Host, label, path),
            None => {
                let (label, rest) = first_segment(path);
                (Style::Path, label, rest)
            }
        };
        if label.is_empty() {
            return Err(ErrorCode::InvalidUri.into());
        }
        let (account, secondary) = account_of(label);
        Ok(Self {
            account,
            secondary,
            style,
            host,
            path,
            rest,
            query,
        })
    }

    /// Splits the target of a request inside a batch: an absolute URL, or a path with or without the account (the old
    /// Python client omits the account even in path style, recordings cosmosdbpython--test_table_batch_*). The account
    /// is always that of the batch, because only the batch was authorized. A URL of the secondary endpoint remains
    /// read-only, so that a batch cannot write through it.
    pub fn parse_inner(target: &'a str, batch: &Target<'a>) -> Self {
        let (authority, target) = split_authority(target);
        let (path, query) = split_query(target);
        let (label, below) = first_segment(path);
        let (account, is_secondary) = account_of(label);
        // A single segment is never the account, because a table may have the account's name.
        let names_account = batch.style == Style::Path
            && account == batch.account
            && !below.trim_matches('/').is_empty();
        let rest = if names_account { below } else { path };
        Self {
            secondary: batch.secondary
                || (names_account && is_secondary)
                || authority.is_some_and(|host| is_secondary_host(host, &batch.account)),
            path,
            rest,
            query,
            ..batch.clone()
        }
    }

    /// The raw path of the resource. It is [`Self::rest`], except if that is the account again, in a request for the
    /// secondary service itself: Python requests its stats as `/account-secondary/account/?restype=service&comp=stats`
    /// (captured from azure-data-tables 12.7.0 in path style).
    pub(crate) fn resource_path(&self) -> &'a str {
        let (label, below) = first_segment(self.rest);
        let repeats_account = self.secondary
            && label == self.account
            && below.trim_matches('/').is_empty()
            && self.query.has("restype");
        if repeats_account { "" } else { self.rest }
    }

    /// The account's URL in the client's form, without a trailing slash: the base of every URL in answers.
    pub fn base(&self, scheme: &str) -> String {
        let mut out = String::with_capacity(64);
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
        out
    }
}

/// Splits a target into its authority, if it is absolute, and the rest after the authority.
fn split_authority(target: &str) -> (Option<&str>, &str) {
    let below = |scheme: &str| {
        let (start, rest) = target.split_at_checked(scheme.len())?;
        start.eq_ignore_ascii_case(scheme).then_some(rest)
    };
    let Some(rest) = below("http://").or_else(|| below("https://")) else {
        return (None, target);
    };
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at_checked(end).unwrap_or((rest, ""));
    (Some(authority), rest)
}

/// Splits a target into its path, which is at least `/`, and its query.
fn split_query(target: &str) -> (&str, Query<'_>) {
    let (path, query) = split::once(target, b'?').unwrap_or((target, ""));
    (if path.is_empty() { "/" } else { path }, Query::new(query))
}

/// The first non-empty segment, and the raw path after it.
fn first_segment(path: &str) -> (&str, &str) {
    let path = path.trim_start_matches('/');
    memchr(b'/', path.as_bytes())
        .and_then(|at| path.split_at_checked(at))
        .unwrap_or((path, ""))
}

/// Whether the first label of a host is the account's secondary endpoint. Host names have no case.
fn is_secondary_host(host: &str, account: &str) -> bool {
    let label = host.split(['.', ':']).next().unwrap_or_default();
    label
        .split_at_checked(account.len())
        .is_some_and(|(name, suffix)| {
            name.eq_ignore_ascii_case(account) && suffix.eq_ignore_ascii_case("-secondary")
        })
}

/// The account in a label, in lower case, and whether the label names its secondary endpoint.
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
