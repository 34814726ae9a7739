//! Shared access signatures of a table (service document "Create a service SAS").
//!
//! Signed are, joined by line feeds:
//! ```text
//! from 2015-04-05 on:       sp st se canonical si sip spr sv spk srk epk erk
//! 2012-02-12 to 2015-02-21: sp st se canonical si         sv spk srk epk erk
//! canonical: /table/account/table from 2015-02-21 on, before that /account/table; the table in lower case
//! ```
//! Missing and empty parameters are signed alike, so they mean the same: an empty `epk` is no bound.

use super::key::{AccountKeys, mismatch};
use super::letters::Letters;
use super::sas::{Terms, check_times, parse_time, text};
use super::{Access, Caller, KeyBound, KeyRange};
use crate::{ErrorCode, Failure, Query, Version};
use partita_model::{AccessPolicy, DateTime, SignedIdentifier};
use std::borrow::Cow;

const OLDEST: Version = Version::from_date(20_120_212);
const SERVICE_IN_RESOURCE: Version = Version::from_date(20_150_221);
const ADDRESS_AND_PROTOCOL: Version = Version::from_date(20_150_405);

/// A table SAS as sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableSas<'a> {
    pub(super) terms: Terms<'a>,
    /// `tn`, in lower case.
    pub(super) table: String,
    pub(super) policy_id: Cow<'a, str>,
    pub(super) low: [Cow<'a, str>; 2],
    pub(super) high: [Cow<'a, str>; 2],
}

/// A table SAS whose signature is right. Its terms are still to be checked, with the stored policy if it names one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedTableSas<'a>(TableSas<'a>);

impl<'a> TableSas<'a> {
    /// Takes the parameters from a query.
    ///
    /// # Errors
    /// 400 InvalidQueryParameterValue where one is no UTF-8.
    pub fn parse(query: Query<'a>) -> Result<Self, Failure> {
        Ok(Self {
            terms: Terms::parse(query)?,
            table: text(query, "tn")?.to_ascii_lowercase(),
            policy_id: text(query, "si")?,
            low: [text(query, "spk")?, text(query, "srk")?],
            high: [text(query, "epk")?, text(query, "erk")?],
        })
    }

    /// Checks the signature against the keys of the account addressed.
    ///
    /// # Errors
    /// 403 AuthenticationFailed.
    pub fn verify(
        self,
        account: &str,
        keys: &AccountKeys,
    ) -> Result<VerifiedTableSas<'a>, Failure> {
        let terms = &self.terms;
        let version = terms.version_since(OLDEST)?;
        if version < ADDRESS_AND_PROTOCOL
            && !(terms.addresses.is_empty() && terms.protocols.is_empty())
        {
            // They are not signed in these versions: anyone could take them away, or set them.
            return Err(Failure::authentication("sip and spr need a newer sv"));
        }
        let parts = self.parts(account, version);
        if !terms
            .signature
            .is_some_and(|signature| keys.verify(&parts, &signature))
        {
            return Err(mismatch(&parts));
        }
        Ok(VerifiedTableSas(self))
    }

    /// The string to sign, in pieces.
    pub(super) fn parts<'p>(&'p self, account: &'p str, version: Version) -> [&'p str; 26] {
        let terms = &self.terms;
        let service = if version >= SERVICE_IN_RESOURCE {
            "/table/"
        } else {
            "/"
        };
        let extra = if version >= ADDRESS_AND_PROTOCOL {
            [&*terms.addresses, "\n", &*terms.protocols, "\n"]
        } else {
            [""; 4]
        };
        let [sip, sip_end, spr, spr_end] = extra;
        let ([spk, srk], [epk, erk]) = (&self.low, &self.high);
        [
            &*terms.permissions,
            "\n",
            &terms.start,
            "\n",
            &terms.expiry,
            "\n",
            service,
            account,
            "/",
            &self.table,
            "\n",
            &self.policy_id,
            "\n",
            sip,
            sip_end,
            spr,
            spr_end,
            &terms.version,
            "\n",
            spk,
            "\n",
            srk,
            "\n",
            epk,
            "\n",
            erk,
        ]
    }
}

impl VerifiedTableSas<'_> {
    /// The table, in lower case.
    #[must_use]
    pub fn table(&self) -> &str {
        &self.0.table
    }

    /// The stored policy that the signature builds on: [`Self::access`] needs the table's access control list then.
    #[must_use]
    pub fn policy_id(&self) -> Option<&str> {
        Some(&*self.0.policy_id).filter(|id| !id.is_empty())
    }

    /// Checks times, address and protocol. Permission, start and expiry come from the signature or from the stored
    /// policy, never from both.
    ///
    /// # Errors
    /// 403 AuthenticationFailed (also for an unknown policy), AuthorizationSourceIPMismatch,
    /// AuthorizationProtocolMismatch; 400 InvalidQueryParameterValue where a part is given on both sides.
    pub fn access(
        &self,
        caller: &Caller,
        policies: &[SignedIdentifier],
    ) -> Result<Access, Failure> {
        let terms = &self.0.terms;
        let none = AccessPolicy::default();
        let policy = match self.policy_id() {
            None => &none,
            Some(id) => policies
                .iter()
                .find(|identifier| identifier.id == id)
                .map(|identifier| &identifier.policy)
                .ok_or_else(|| {
                    Failure::authentication("the table has no access policy of the name si")
                })?,
        };
        let start = one_side("st", parse_time("st", &terms.start)?, policy.start)?;
        let expiry: Option<DateTime> =
            one_side("se", parse_time("se", &terms.expiry)?, policy.expiry)?;
        let given = Some(&*terms.permissions).filter(|letters| !letters.is_empty());
        let stored = policy
            .permission
            .as_deref()
            .filter(|letters| !letters.is_empty());
        let permissions = one_side("sp", given, stored)?;
        let expiry = expiry.ok_or_else(|| Failure::authentication("no expiry is given"))?;
        let permissions =
            permissions.ok_or_else(|| Failure::authentication("no permission is given"))?;
        check_times(start, expiry, caller.now)?;
        terms.check_caller(caller)?;
        let range = KeyRange {
            low: bound(&self.0.low),
            high: bound(&self.0.high),
        };
        Ok(Access::table_sas(
            self.0.table.clone(),
            Letters::parse(permissions),
            range,
        ))
    }
}

fn one_side<T>(name: &str, given: Option<T>, stored: Option<T>) -> Result<Option<T>, Failure> {
    match (given, stored) {
        (Some(_), Some(_)) => Err(Failure::new(ErrorCode::InvalidQueryParameterValue)
            .detail("QueryParameterName", name)
            .detail(
                "Reason",
                "it is given by the signature and by its stored policy",
            )),
        (given, stored) => Ok(given.or(stored)),
    }
}

/// An end of the key range. A RowKey alone bounds the partition of the empty key.
fn bound([partition_key, row_key]: &[Cow<'_, str>; 2]) -> Option<KeyBound> {
    let own = |text: &Cow<'_, str>| text.clone().into_owned();
    (!partition_key.is_empty() || !row_key.is_empty()).then(|| KeyBound {
        partition_key: own(partition_key),
        row_key: (!row_key.is_empty()).then(|| own(row_key)),
    })
}
