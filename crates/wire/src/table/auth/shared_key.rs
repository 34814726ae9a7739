//! Shared Key and Shared Key Lite as the Table service computes them (service document "Authorize with Shared Key").
//!
//! ```text
//! SharedKey:      VERB \n Content-MD5 \n Content-Type \n Date \n CanonicalizedResource
//! SharedKeyLite:                                         Date \n CanonicalizedResource
//! CanonicalizedResource: / account raw-path [?comp=value]
//! ```
//! In path style the raw path begins with the account, so the account appears twice.

use super::Access;
use crate::auth::{mismatch, signed_paths};
use crate::{AccountKey, AccountKeys, Caller, Failure, SharedKey, Target};

/// The signed parts of a request, each exactly as sent, and empty if absent.
#[derive(Debug, Clone, Copy)]
pub struct SignedRequest<'a> {
    /// The method of the request line: `POST` for a tunnelled verb.
    pub method: &'a str,
    /// `Content-MD5`
    pub content_md5: &'a str,
    /// `Content-Type`
    pub content_type: &'a str,
    /// `x-ms-date`; without it, `Date`.
    pub date: &'a str,
    /// Path, account and `comp`.
    pub target: &'a Target<'a>,
}

impl<'a> SignedRequest<'a> {
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
        shared_key.check_account_and_date(&self.target.account, self.date, caller.now)?;
        let lite = shared_key.is_lite();
        let comp = self.target.query.get("comp")?.unwrap_or_default();
        let mut paths = signed_paths(self.target).into_iter().flatten();
        if paths.any(|path| shared_key.has_signed(&self.parts(lite, path, &comp), keys)) {
            return Ok(Access::owner());
        }
        Err(mismatch(&self.parts(
            lite,
            ["", self.target.path, ""],
            &comp,
        )))
    }

    /// The value of an `Authorization` header for the request, for clients.
    ///
    /// # Errors
    /// 400 InvalidQueryParameterValue if `comp` is not UTF-8.
    pub fn authorization(&self, key: &AccountKey, lite: bool) -> Result<String, Failure> {
        let comp = self.target.query.get("comp")?.unwrap_or_default();
        let signature = key.sign(&self.parts(lite, ["", self.target.path, ""], &comp));
        let scheme = if lite { "SharedKeyLite" } else { "SharedKey" };
        Ok(format!("{scheme} {}:{signature}", self.target.account))
    }

    /// The string to sign, in pieces: the verb part, the date, and the resource.
    fn parts<'p>(&'p self, lite: bool, path: [&'p str; 3], comp: &'p str) -> [&'p str; 14] {
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
        let [slash, first, second] = path;
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
