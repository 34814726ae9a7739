//! What kind of credentials a request brings.

use super::key::Signature;
use super::{AccountSas, SharedKey, TableSas};
use crate::{ErrorCode, Failure, Query, Version, cut};

/// The credentials of a request, not yet verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credentials<'a> {
    /// `Authorization: SharedKey account:signature`, or `SharedKeyLite`.
    SharedKey(SharedKey<'a>),
    /// A shared access signature of the account.
    AccountSas(AccountSas<'a>),
    /// A shared access signature of one table.
    TableSas(TableSas<'a>),
    /// `Authorization: Bearer token`.
    Bearer(&'a str),
}

impl<'a> Credentials<'a> {
    /// Finds the credentials. With both a header and a signature in the query, the header counts.
    ///
    /// # Errors
    /// Without credentials: 401 with a challenge from version 2020-12-06 on, before that 403 AuthenticationFailed. For a
    /// header that does not parse: 400 InvalidAuthenticationInfo. For a shared key without a version: 400
    /// MissingRequiredHeader. For a shared access signature that lacks what it needs:
    /// 403 AuthenticationFailed.
    pub fn parse(
        authorization: Option<&'a str>,
        query: Query<'a>,
        version: Option<Version>,
    ) -> Result<Self, Failure> {
        if let Some(header) = authorization {
            let credentials = Self::parse_header(header)?;
            // A SAS names a version itself, and tokens are newer than the rule.
            return match credentials {
                Self::SharedKey(_) if version.is_none() => {
                    Err(Failure::new(ErrorCode::MissingRequiredHeader)
                        .detail("HeaderName", "x-ms-version"))
                }
                credentials => Ok(credentials),
            };
        }
        if query.has("sig") {
            return if query.has("tn") {
                TableSas::parse(query).map(Self::TableSas)
            } else {
                AccountSas::parse(query).map(Self::AccountSas)
            };
        }
        let challenged = version.is_some_and(|version| version >= Version::CHALLENGE);
        Err(if challenged {
            ErrorCode::MissingCredentials.into()
        } else {
            Failure::authentication("no credentials were sent")
        })
    }

    fn parse_header(header: &'a str) -> Result<Self, Failure> {
        let malformed = || Failure::new(ErrorCode::InvalidAuthenticationInfo);
        let (scheme, value) = cut::once(header.trim(), b' ').ok_or_else(malformed)?;
        let value = value.trim_start();
        let is = |name: &str| scheme.eq_ignore_ascii_case(name);
        if is("Bearer") {
            return if value.is_empty() {
                Err(malformed())
            } else {
                Ok(Self::Bearer(value))
            };
        }
        if !is("SharedKey") && !is("SharedKeyLite") {
            return Err(malformed());
        }
        let (account, signature) = cut::once(value, b':').ok_or_else(malformed)?;
        if account.is_empty() || signature.is_empty() {
            return Err(malformed());
        }
        let signature = Signature::from_base64(signature);
        Ok(Self::SharedKey(SharedKey {
            account,
            signature,
            lite: is("SharedKeyLite"),
        }))
    }
}
