//! Shared access signatures of an account (service document "Create an account SAS").
//!
//! Signed are, each followed by a line feed: account, `sp`, `ss`, `srt`, `st`, `se`, `sip`, `spr`, `sv`, and from version
//! 2020-12-06 on `ses`.

use super::key::{AccountKeys, mismatch};
use super::letters::Letters;
use super::sas::{Terms, check_times, parse_time, text};
use super::{Access, Caller};
use crate::{ErrorCode, Failure, Query, Version};
use std::borrow::Cow;

const OLDEST: Version = Version::from_date(20_150_405);
const ENCRYPTION_SCOPE: Version = Version::from_date(20_201_206);

/// An account SAS as sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountSas<'a> {
    pub(super) terms: Terms<'a>,
    pub(super) services: Cow<'a, str>,
    pub(super) resource_types: Cow<'a, str>,
    pub(super) encryption_scope: Cow<'a, str>,
}

impl<'a> AccountSas<'a> {
    /// Takes the parameters from a query.
    ///
    /// # Errors
    /// 400 InvalidQueryParameterValue where one is no UTF-8.
    pub fn parse(query: Query<'a>) -> Result<Self, Failure> {
        Ok(Self {
            terms: Terms::parse(query)?,
            services: text(query, "ss")?,
            resource_types: text(query, "srt")?,
            encryption_scope: text(query, "ses")?,
        })
    }

    /// Checks the signature against the keys of the account addressed, then times, address, protocol and service.
    ///
    /// # Errors
    /// 403 AuthenticationFailed, AuthorizationSourceIPMismatch, AuthorizationProtocolMismatch,
    /// AuthorizationServiceMismatch.
    pub fn verify(
        &self,
        account: &str,
        keys: &AccountKeys,
        caller: &Caller,
    ) -> Result<Access, Failure> {
        let terms = &self.terms;
        let parts = self.parts(account, terms.version_since(OLDEST)?);
        if !terms
            .signature
            .is_some_and(|signature| keys.verify(&parts, &signature))
        {
            return Err(mismatch(&parts));
        }
        let start = parse_time("st", &terms.start)?;
        let expiry = parse_time("se", &terms.expiry)?
            .ok_or_else(|| Failure::authentication("se is missing"))?;
        check_times(start, expiry, caller.now)?;
        terms.check_caller(caller)?;
        if !Letters::parse(&self.services).has_all("t") {
            return Err(ErrorCode::AuthorizationServiceMismatch.into());
        }
        Ok(Access::account_sas(
            Letters::parse(&self.resource_types),
            Letters::parse(&terms.permissions),
        ))
    }

    /// The string to sign, in pieces.
    pub(super) fn parts<'p>(&'p self, account: &'p str, version: Version) -> [&'p str; 20] {
        let terms = &self.terms;
        let scope = if version >= ENCRYPTION_SCOPE {
            [&*self.encryption_scope, "\n"]
        } else {
            ["", ""]
        };
        let [scope, scope_end] = scope;
        [
            account,
            "\n",
            &terms.permissions,
            "\n",
            &self.services,
            "\n",
            &self.resource_types,
            "\n",
            &terms.start,
            "\n",
            &terms.expiry,
            "\n",
            &terms.addresses,
            "\n",
            &terms.protocols,
            "\n",
            &terms.version,
            "\n",
            scope,
            scope_end,
        ]
    }
}
