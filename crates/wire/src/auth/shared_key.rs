//! Shared Key and Shared Key Lite: the header, its date and its signature. Each service has a different string to sign.

use super::key::{AccountKeys, Signature};
use crate::{Failure, Style, Target, parse_http_date};
use partita_model::DateTime;

/// The maximum difference between the date of a signed request and the server's time, in minutes.
pub const SKEW_MINUTES_MAX: u64 = 15;
const TICKS_PER_MINUTE: u64 = 600_000_000;

/// An `Authorization` header of either scheme.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedKey<'a> {
    /// The name of the signing account.
    pub(super) account: &'a str,
    /// `None` if the text cannot be a signature.
    pub(super) signature: Option<Signature>,
    /// Whether the scheme is Shared Key Lite.
    pub(super) lite: bool,
}

impl SharedKey<'_> {
    /// Whether the scheme is Shared Key Lite.
    pub(crate) const fn is_lite(&self) -> bool {
        self.lite
    }

    /// Checks that the addressed account signed the request, and that the request's date is close to `now`.
    ///
    /// # Errors
    /// 403 AuthenticationFailed, with the reason as its detail.
    pub(crate) fn check_account_and_date(
        &self,
        account: &str,
        date: &str,
        now: DateTime,
    ) -> Result<(), Failure> {
        if self.account != account {
            return Err(Failure::authentication(
                "the account in the Authorization header is not the account in the URL",
            ));
        }
        check_date(date, now)
    }

    /// Whether one of the keys made the signature of the joined parts.
    pub(crate) fn has_signed(&self, parts: &[&str], keys: &AccountKeys) -> bool {
        self.signature
            .is_some_and(|signature| keys.verify(parts, &signature))
    }
}

/// The forms of the path that a client may have signed after `/account`, each in three pieces. Clients of the secondary
/// sign the path with `-secondary` or with the plain account; Python, which requests `/account-secondary/account/`, signs
/// the part after the first segment (captured from azure-data-tables 12.7.0).
pub(crate) fn signed_paths<'a>(target: &'a Target<'a>) -> [Option<[&'a str; 3]>; 3] {
    let sent = Some(["", target.path, ""]);
    if !target.secondary || target.style != Style::Path {
        return [sent, None, None];
    }
    let account = target
        .path
        .trim_start_matches('/')
        .get(..target.account.len());
    let plain = account.map(|account| ["/", account, target.rest]);
    [sent, plain, Some(["", "", target.rest])]
}

fn check_date(text: &str, now: DateTime) -> Result<(), Failure> {
    if text.is_empty() {
        return Err(Failure::authentication(
            "the request has neither x-ms-date nor Date",
        ));
    }
    let date = parse_http_date(text).ok_or_else(|| {
        Failure::authentication("the date of the request is not in the form of RFC 1123")
    })?;
    if date.ticks().abs_diff(now.ticks()) > SKEW_MINUTES_MAX * TICKS_PER_MINUTE {
        let reason = format!(
            "the request is dated {date}, the server's time is {now}; they may differ by at most 15 minutes"
        );
        return Err(Failure::authentication(reason));
    }
    Ok(())
}
