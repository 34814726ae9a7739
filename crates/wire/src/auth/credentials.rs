//! Reads the credentials of a request.

use super::key::Signature;
use super::{AccountSas, SharedKey, challenged};
use crate::{ErrorCode, Failure, Query, Version, split};

/// The parameters of shared access signatures. Each may be given only once: of two values, one could be signed and the
/// other one used.
const SAS_PARAMETERS: [&str; 16] = [
    "sv", "ss", "srt", "sp", "st", "se", "sip", "spr", "ses", "sig", "tn", "si", "spk", "srk",
    "epk", "erk",
];

/// A shared access signature of one service, such as `table::TableSas`.
pub trait ServiceSas<'a>: Sized {
    /// Whether the signature in the query is of this kind, not an account SAS.
    fn is_in(query: Query<'a>) -> bool;

    /// Takes the parameters from a query.
    ///
    /// # Errors
    /// 400 InvalidQueryParameterValue if one is not UTF-8.
    fn parse(query: Query<'a>) -> Result<Self, Failure>;
}

/// The unverified credentials of a request to a service whose signatures are of the kind `S`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credentials<'a, S> {
    /// `Authorization: SharedKey account:signature`, or `SharedKeyLite`.
    SharedKey(SharedKey<'a>),
    /// A shared access signature of the account.
    AccountSas(AccountSas<'a>),
    /// A shared access signature of the service.
    ServiceSas(S),
    /// `Authorization: Bearer token`.
    Bearer(&'a str),
}

impl<'a, S: ServiceSas<'a>> Credentials<'a, S> {
    /// Finds the credentials. A header takes precedence over a signature in the query.
    ///
    /// # Errors
    /// Without credentials: 401 with a challenge since version 2019-12-12, before that 403 AuthenticationFailed. For a
    /// malformed header: 400 InvalidAuthenticationInfo. For a shared key without a version: 400 MissingRequiredHeader.
    /// For a shared access signature that is incomplete, or has a parameter twice: 403 AuthenticationFailed.
    pub fn parse(
        authorization: Option<&'a str>,
        query: Query<'a>,
        version: Option<Version>,
    ) -> Result<Self, Failure> {
        if let Some(header) = authorization {
            let credentials = Self::parse_header(header)?;
            // A SAS contains its version. Bearer tokens do not need a version.
            return match credentials {
                Self::SharedKey(_) if version.is_none() => {
                    Err(Failure::new(ErrorCode::MissingRequiredHeader)
                        .detail("HeaderName", "x-ms-version"))
                }
                credentials => Ok(credentials),
            };
        }
        if query.has("sig") {
            if query.repeats_any(&SAS_PARAMETERS) {
                return Err(Failure::authentication(
                    "a parameter of the shared access signature is given twice",
                ));
            }
            return if S::is_in(query) {
                S::parse(query).map(Self::ServiceSas)
            } else {
                AccountSas::parse(query).map(Self::AccountSas)
            };
        }
        Err(challenged(version, "no credentials were sent"))
    }

    fn parse_header(header: &'a str) -> Result<Self, Failure> {
        let malformed = || Failure::new(ErrorCode::InvalidAuthenticationInfo);
        let (scheme, value) = split::once(header.trim(), b' ').ok_or_else(malformed)?;
        let value = value.trim_start();
        let is = |name: &str| scheme.eq_ignore_ascii_case(name);
        if is("Bearer") {
            let token = Some(value).filter(|token| !token.is_empty());
            return token.map(Self::Bearer).ok_or_else(malformed);
        }
        if !is("SharedKey") && !is("SharedKeyLite") {
            return Err(malformed());
        }
        let (account, signature) = split::once(value, b':').ok_or_else(malformed)?;
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
