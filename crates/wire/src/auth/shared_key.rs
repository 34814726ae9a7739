//! Shared Key and Shared Key Lite in the form of the Table service (service document "Authorize with Shared Key").
//!
//! ```text
//! SharedKey:      VERB \n Content-MD5 \n Content-Type \n Date \n CanonicalizedResource
//! SharedKeyLite:                                         Date \n CanonicalizedResource
//! CanonicalizedResource: / account raw-path [?comp=value]
//! ```
//! In path style the raw path begins with the account, so the account appears twice.

use super::Access;
use super::Caller;
use super::key::{AccountKey, AccountKeys, Signature, mismatch};
use crate::{Failure, Style, Target, parse_http_date};
use partita_model::DateTime;

/// How far the date of a signed request may be from the server's time, in minutes.
pub const SKEW_MINUTES_MAX: u64 = 15;
const TICKS_PER_MINUTE: u64 = 600_000_000;

/// An `Authorization` header of either scheme.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedKey<'a> {
    /// The account that signed.
    pub(super) account: &'a str,
    /// `None` where the text could not be any signature.
    pub(super) signature: Option<Signature>,
    /// Whether the scheme is Shared Key Lite.
    pub(super) lite: bool,
}

/// The parts of a request that are signed, each exactly as sent, and empty where it was not.
#[derive(Debug, Clone, Copy)]
pub struct SignedRequest<'a> {
    /// The method of the request line, so `POST` for a tunnelled verb.
    pub method: &'a str,
    /// `Content-MD5`
    pub content_md5: &'a str,
    /// `Content-Type`
    pub content_type: &'a str,
    /// `x-ms-date`, or without it `Date`.
    pub date: &'a str,
    /// Path, account and `comp`.
    pub target: &'a Target<'a>,
}

impl SharedKey<'_> {
    /// Checks account, date and signature.
    ///
    /// # Errors
    /// 403 AuthenticationFailed, with the reason as its detail.
    pub fn verify(
        &self,
        request: &SignedRequest<'_>,
        keys: &AccountKeys,
        caller: &Caller,
    ) -> Result<Access, Failure> {
        if self.account != request.target.account {
            return Err(Failure::authentication(
                "the request is signed for another account than it addresses",
            ));
        }
        check_date(request.date, caller.now)?;
        let comp = request.target.query.get("comp")?.unwrap_or_default();
        let fits = |signature: Signature| {
            let mut paths = request.paths().into_iter().flatten();
            paths.any(|path| keys.verify(&request.parts(self.lite, path, &comp), &signature))
        };
        if self.signature.is_some_and(fits) {
            return Ok(Access::owner());
        }
        Err(mismatch(&request.parts(
            self.lite,
            [request.target.path, ""],
            &comp,
        )))
    }
}

impl<'a> SignedRequest<'a> {
    /// The value of an `Authorization` header for the request: the client's side.
    ///
    /// # Errors
    /// 400 InvalidQueryParameterValue where `comp` is no UTF-8.
    pub fn authorization(&self, key: &AccountKey, lite: bool) -> Result<String, Failure> {
        let comp = self.target.query.get("comp")?.unwrap_or_default();
        let signature = key.sign(&self.parts(lite, [self.target.path, ""], &comp));
        let scheme = if lite { "SharedKeyLite" } else { "SharedKey" };
        Ok(format!("{scheme} {}:{signature}", self.target.account))
    }

    /// The forms of the path that may have been signed, each in two pieces. A client that turns to the secondary may
    /// have signed the path with `-secondary`, or with the plain account; Python, which asks for
    /// `/account-secondary/account/`, signs the part after the first segment (captured from azure-data-tables 12.7.0).
    fn paths(&self) -> [Option<[&'a str; 2]>; 3] {
        let target = self.target;
        if target.secondary && target.style == Style::Path {
            let account = target
                .path
                .trim_start_matches('/')
                .get(..target.account.len());
            let plain = account.map(|account| [account, target.rest]);
            [Some([target.path, ""]), plain, Some(["", target.rest])]
        } else {
            [Some([target.path, ""]), None, None]
        }
    }

    /// The string to sign, in pieces: the verb part, the date, and the resource.
    fn parts<'p>(&'p self, lite: bool, path: [&'p str; 2], comp: &'p str) -> [&'p str; 14] {
        let [v0, v1, v2, v3, v4, v5] = if lite {
            [""; 6]
        } else {
            [
                self.method,
                "\n",
                self.content_md5,
                "\n",
                self.content_type,
                "\n",
            ]
        };
        let [first, second] = path;
        // The plain account of the second form of a path comes without its slash.
        let slash = if first.is_empty() || first.starts_with('/') {
            ""
        } else {
            "/"
        };
        let query = if comp.is_empty() { "" } else { "?comp=" };
        [
            v0,
            v1,
            v2,
            v3,
            v4,
            v5,
            self.date,
            "\n/",
            &self.target.account,
            slash,
            first,
            second,
            query,
            comp,
        ]
    }
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
            "the request is dated {date}, the server's time is {now}; they may differ by 15 minutes"
        );
        return Err(Failure::authentication(reason));
    }
    Ok(())
}
