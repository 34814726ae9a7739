//! Shared Key and Shared Key Lite as the Queue service computes them (service document "Authorize with Shared Key").
//!
//! ```text
//! SharedKey:      VERB \n Content-Encoding \n Content-Language \n Content-Length \n Content-MD5 \n Content-Type \n Date \n
//!                 If-Modified-Since \n If-Match \n If-None-Match \n If-Unmodified-Since \n Range \n
//!                 CanonicalizedHeaders / account raw-path {\n name:value of each query parameter}
//! SharedKeyLite:  VERB \n Content-MD5 \n Content-Type \n Date \n
//!                 CanonicalizedHeaders / account raw-path [?comp=value]
//! ```
//! `Date` is empty if the request has `x-ms-date`, which is among the headers then. A `Content-Length` of zero is empty
//! since version 2015-02-21. In path style the raw path begins with the account, so the account appears twice.

use super::Access;
use super::canonical::{HeaderForm, query_lines};
use crate::auth::{mismatch, signed_paths};
use crate::{AccountKey, AccountKeys, Caller, Failure, SharedKey, Target, Version};

/// The first version that signs no length for an empty body.
const EMPTY_LENGTH: Version = Version::from_date(20_150_221);
/// The signed headers of Shared Key, and those of Shared Key Lite.
const HEADERS: [&str; 11] = [
    "content-encoding",
    "content-language",
    "content-length",
    "content-md5",
    "content-type",
    "date",
    "if-modified-since",
    "if-match",
    "if-none-match",
    "if-unmodified-since",
    "range",
];
const LITE_HEADERS: [&str; 3] = ["content-md5", "content-type", "date"];

/// The signed parts of a request.
#[derive(Debug, Clone, Copy)]
pub struct SignedRequest<'a> {
    /// The method of the request line.
    pub method: &'a str,
    /// The headers, names in any case, values as sent. All headers that are sent must be here: those of the standard
    /// that are signed, such as `Content-Length`, and those that begin with `x-ms-`. Others are ignored.
    pub headers: &'a [(&'a str, &'a str)],
    /// Path, account and query.
    pub target: &'a Target<'a>,
}

impl SignedRequest<'_> {
    /// Checks account, date and signature of a `SharedKey` header.
    ///
    /// # Errors
    /// 403 AuthenticationFailed, with the reason as its detail.
    pub fn verify(
        &self,
        shared_key: &SharedKey<'_>,
        keys: &AccountKeys,
        caller: &Caller,
    ) -> Result<Access, Failure> {
        let date = self.header("x-ms-date").or_else(|| self.header("date"));
        let account = &self.target.account;
        shared_key.check_account_and_date(account, date.unwrap_or_default(), caller.now)?;
        let lite = shared_key.is_lite();
        let (lines, query) = (self.lines(lite), self.query(lite)?);
        for form in HeaderForm::ALL {
            let headers = form.headers(self.headers, self.version());
            for path in signed_paths(self.target).into_iter().flatten() {
                let parts = self.parts(&lines, &headers, path, &query);
                if shared_key.has_signed(&parts, keys) {
                    return Ok(Access::owner());
                }
            }
        }
        let headers = HeaderForm::Plain.headers(self.headers, self.version());
        Err(mismatch(&self.parts(
            &lines,
            &headers,
            ["", self.target.path, ""],
            &query,
        )))
    }

    /// The value of an `Authorization` header for the request, for clients.
    ///
    /// # Errors
    /// 400 InvalidQueryParameterValue if `comp` is not UTF-8.
    pub fn authorization(&self, key: &AccountKey, lite: bool) -> Result<String, Failure> {
        let (lines, query) = (self.lines(lite), self.query(lite)?);
        let headers = HeaderForm::Plain.headers(self.headers, self.version());
        let signature = key.sign(&self.parts(&lines, &headers, ["", self.target.path, ""], &query));
        let scheme = if lite { "SharedKeyLite" } else { "SharedKey" };
        Ok(format!("{scheme} {}:{signature}", self.target.account))
    }

    /// The verb and the standard headers, a line each.
    fn lines(&self, lite: bool) -> String {
        let mut lines = String::with_capacity(128);
        lines.push_str(self.method);
        lines.push('\n');
        let names = if lite { &LITE_HEADERS[..] } else { &HEADERS };
        for name in names {
            lines.push_str(self.signed_value(name));
            lines.push('\n');
        }
        lines
    }

    fn signed_value(&self, name: &str) -> &str {
        let value = self.header(name).unwrap_or_default();
        let is_new = || {
            self.version()
                .is_some_and(|version| version >= EMPTY_LENGTH)
        };
        match name {
            "date" if self.header("x-ms-date").is_some() => "",
            "content-length" if value == "0" && is_new() => "",
            _ => value,
        }
    }

    /// The query in the signed resource.
    fn query(&self, lite: bool) -> Result<String, Failure> {
        if !lite {
            return Ok(query_lines(self.target.query));
        }
        let comp = self.target.query.get("comp")?;
        Ok(comp.map_or_else(String::new, |comp| format!("?comp={comp}")))
    }

    fn version(&self) -> Option<Version> {
        self.header("x-ms-version").and_then(Version::parse)
    }

    fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(other, _)| other.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.trim())
    }

    /// The string to sign, in pieces.
    fn parts<'p>(
        &'p self,
        lines: &'p str,
        headers: &'p str,
        [slash, first, second]: [&'p str; 3],
        query: &'p str,
    ) -> [&'p str; 8] {
        let account = &self.target.account;
        [lines, headers, "/", account, slash, first, second, query]
    }
}
