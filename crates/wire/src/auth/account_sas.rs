//! Shared access signatures of an account (service document "Create an account SAS").
//!
//! The string to sign has these values, each followed by a line feed: account, `sp`, `ss`, `srt`, `st`, `se`, `sip`,
//! `spr`, `sv`, and since version 2020-12-06 `ses`.

use super::key::{AccountKey, AccountKeys, mismatch};
use super::sas_terms::{SasTerms, SignedTerms, check_times, parse_time, push_terms, text};
use super::{Caller, Letters, Rights};
use crate::{ErrorCode, Failure, Query, ServiceKind, Version, push_query_parameter};
use std::borrow::Cow;

/// The first version with an account SAS.
const OLDEST: Version = Version::from_date(20_150_405);
/// The first version that signs an encryption scope (`ses`).
const ENCRYPTION_SCOPE: Version = Version::from_date(20_201_206);

/// The rights that a verified account SAS grants in every service that it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccountGrant {
    resource_types: Letters,
    permissions: Letters,
}

impl AccountGrant {
    pub(crate) fn new(resource_types: &str, permissions: &str) -> Self {
        Self {
            resource_types: Letters::parse(resource_types),
            permissions: Letters::parse(permissions),
        }
    }

    /// The rights as plain values.
    pub(crate) fn rights(self) -> Rights {
        Rights::AccountSas {
            resource_types: self.resource_types.bits(),
            permissions: self.permissions.bits(),
        }
    }

    pub(crate) const fn from_bits(resource_types: u32, permissions: u32) -> Self {
        Self {
            resource_types: Letters::from_bits(resource_types),
            permissions: Letters::from_bits(permissions),
        }
    }

    /// Checks an operation that needs `resource_type` and all letters of one of these `permissions`: returns the error
    /// code if the SAS does not grant it. The type is checked first (the table of the service document "Create an
    /// account SAS").
    pub(crate) fn refusal(self, resource_type: &str, permissions: &[&str]) -> Option<ErrorCode> {
        if !self.resource_types.has_all(resource_type) {
            Some(ErrorCode::AuthorizationResourceTypeMismatch)
        } else if self.permissions.has_all_of_one(permissions) {
            None
        } else {
            Some(ErrorCode::AuthorizationPermissionMismatch)
        }
    }
}

/// The terms of a new account SAS (service document "Create an account SAS").
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountSasTerms {
    /// `sp`, such as `rwdlacu`.
    pub permissions: String,
    /// `srt`, letters of `sco`: service, container (tables), object (entities).
    pub resource_types: String,
    /// Times, addresses and protocol.
    pub terms: SasTerms,
}

impl AccountSasTerms {
    /// Signs the terms. Returns the SAS as a query string, which can be appended to any URL of the account's service.
    pub fn sign(&self, account: &str, key: &AccountKey, service: ServiceKind) -> String {
        self.sign_for(account, key, &[service])
    }

    /// Like [`Self::sign`], for several services.
    pub fn sign_for(&self, account: &str, key: &AccountKey, services: &[ServiceKind]) -> String {
        let letters: String = services.iter().map(|service| service.letter()).collect();
        let sas = AccountSas {
            terms: self.terms.signed(&self.permissions),
            services: letters.into(),
            resource_types: self.resource_types.as_str().into(),
            encryption_scope: Cow::Borrowed(""),
        };
        let mut query = push_terms(&sas.terms);
        push_query_parameter("ss", &sas.services, &mut query);
        push_query_parameter("srt", &sas.resource_types, &mut query);
        let signature = key.sign(&sas.parts(account, SasTerms::VERSION));
        push_query_parameter("sig", &signature, &mut query);
        query
    }
}

/// An account SAS as received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountSas<'a> {
    pub(super) terms: SignedTerms<'a>,
    pub(super) services: Cow<'a, str>,
    pub(super) resource_types: Cow<'a, str>,
    pub(super) encryption_scope: Cow<'a, str>,
}

impl<'a> AccountSas<'a> {
    /// Takes the parameters from a query.
    ///
    /// # Errors
    /// 400 InvalidQueryParameterValue if one is not UTF-8.
    pub fn parse(query: Query<'a>) -> Result<Self, Failure> {
        Ok(Self {
            terms: SignedTerms::parse(query)?,
            services: text(query, "ss")?,
            resource_types: text(query, "srt")?,
            encryption_scope: text(query, "ses")?,
        })
    }

    /// Checks the signature against the keys of the addressed account, then times, address, protocol and service.
    ///
    /// # Errors
    /// 403 AuthenticationFailed, AuthorizationSourceIPMismatch, AuthorizationProtocolMismatch,
    /// AuthorizationServiceMismatch.
    pub fn verify(
        &self,
        account: &str,
        keys: &AccountKeys,
        service: ServiceKind,
        caller: &Caller,
    ) -> Result<AccountGrant, Failure> {
        self.check_signature(account, keys)?;
        let terms = &self.terms;
        let start = parse_time("st", &terms.start)?;
        let expiry = parse_time("se", &terms.expiry)?
            .ok_or_else(|| Failure::authentication("se is missing"))?;
        check_times(start, expiry, caller.now)?;
        terms.check_caller(caller)?;
        if !Letters::parse(&self.services).has_all(service.letter()) {
            return Err(ErrorCode::AuthorizationServiceMismatch.into());
        }
        Ok(AccountGrant::new(&self.resource_types, &terms.permissions))
    }

    /// Checks only the signature, against the keys of an account.
    ///
    /// # Errors
    /// 403 AuthenticationFailed.
    pub fn check_signature(&self, account: &str, keys: &AccountKeys) -> Result<(), Failure> {
        let parts = self.parts(account, self.terms.version_since(OLDEST)?);
        match self.terms.is_signed_by(keys, &parts) {
            true => Ok(()),
            false => Err(mismatch(&parts)),
        }
    }

    /// The string to sign, in parts that are signed as if joined.
    pub(super) fn parts<'p>(&'p self, account: &'p str, version: Version) -> [&'p str; 20] {
        let [sv, sp, st, se, sip, spr] = self.terms.texts();
        let (ss, srt) = (&self.services, &self.resource_types);
        let [ses, end] = if version >= ENCRYPTION_SCOPE {
            [&*self.encryption_scope, "\n"]
        } else {
            ["", ""]
        };
        let lf = "\n";
        [
            account, lf, sp, lf, ss, lf, srt, lf, st, lf, se, lf, sip, lf, spr, lf, sv, lf, ses,
            end,
        ]
    }
}
