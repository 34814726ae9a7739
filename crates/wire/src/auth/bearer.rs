//! Bearer tokens: JSON Web Tokens of Microsoft Entra ID or of another issuer.
//!
//! Two sets of rules: [`BearerRules::basic`] does not check signatures, like Azurite's `--oauth basic`, and is for
//! tests only; [`BearerRules::verified`] checks the signature against the issuer's published keys.
//!
//! Each service decides which rights a role grants.

use super::{Caller, Jwks};
use crate::{ErrorCode, Failure, ServiceKind, Version};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use partita_model::DateTime;
use serde::Deserialize;

/// The maximum length of a token, in bytes.
const TOKEN_BYTES_MAX: usize = 16 * 1024;
/// The tolerated difference between the clocks of issuer and server, in seconds.
const LEEWAY_SECONDS: f64 = 60.0;
/// Issuers that basic rules accept: those that Azurite accepts, and the newer URL of the public cloud.
const ISSUERS: [&str; 6] = [
    "https://sts.windows.net/",
    "https://sts.microsoftonline.de/",
    "https://sts.chinacloudapi.cn/",
    "https://sts.windows-ppe.net/",
    "https://login.microsoftonline.com/",
    "https://login.partner.microsoftonline.cn/",
];
/// The audience that means any account of Azure Storage, as a URL and as an application id.
const AUDIENCES: [&str; 2] = [
    "https://storage.azure.com",
    "e406a681-f3d4-42a8-90b6-c2b029497af1",
];
/// The domains of accounts in the clouds, below `https://account.service.`.
const CLOUDS: [&str; 4] = [
    "core.windows.net",
    "core.chinacloudapi.cn",
    "core.usgovcloudapi.net",
    "core.cloudapi.de",
];

// Why a token is refused. Public issues quote the service's messages for an expired token (azure-sdk-for-net 42859,
// azure-sdk-for-java 8667), a wrong audience (AzureStor 119) and a wrong issuer (azure-docs 11564). The messages for a
// wrong signature and for a token that is not yet valid are those of the .NET library.
const MALFORMED: &str = "The bearer token is malformed.";
const SIGNATURE: &str = "Signature validation failed. Signature verification failed.";
const NOT_YET_VALID: &str = "Lifetime validation failed. The token is not yet valid.";
const EXPIRED: &str = "Lifetime validation failed. The token is expired.";
const AUDIENCE: &str = "Audience validation failed. Audience did not match.";
const ISSUER: &str = "Issuer validation failed. Issuer did not match.";

/// The rules that a token is checked against.
#[derive(Debug, Clone)]
pub struct BearerRules(Rules);

/// The roles of a verified token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenRoles {
    /// The token has no roles and needs none: it grants the rights of a contributor.
    Unrestricted,
    /// Role names or ids, of any service.
    Named(Vec<String>),
}

impl TokenRoles {
    /// Whether the token has a role under one of these names. An unrestricted token has every role.
    pub(crate) fn has_any(&self, names: &[&str]) -> bool {
        match self {
            Self::Unrestricted => true,
            Self::Named(roles) => roles.iter().any(|role| names.contains(&role.as_str())),
        }
    }
}

#[derive(Debug, Clone)]
enum Rules {
    Basic,
    Verified {
        issuer: String,
        audiences: Vec<String>,
        keys: Jwks,
    },
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
}

#[derive(Deserialize)]
struct Claims {
    iss: String,
    aud: Texts,
    nbf: Option<f64>,
    exp: f64,
    roles: Option<Texts>,
}

/// A claim that is a text or a list of texts.
#[derive(Deserialize)]
#[serde(from = "OneOrMany")]
struct Texts(Vec<String>);

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl From<OneOrMany> for Texts {
    fn from(claim: OneOrMany) -> Self {
        match claim {
            OneOrMany::One(text) => Self(vec![text]),
            OneOrMany::Many(texts) => Self(texts),
        }
    }
}

impl BearerRules {
    /// Checks the issuer, the audience and the times, but not the signature. For tests only.
    pub const fn basic() -> Self {
        Self(Rules::Basic)
    }

    /// Checks the signature, the exact issuer, the times, and the audience: one of `audiences`, or of Azure Storage if
    /// `audiences` is empty.
    pub const fn verified(issuer: String, audiences: Vec<String>, keys: Jwks) -> Self {
        Self(Rules::Verified {
            issuer,
            audiences,
            keys,
        })
    }

    /// Checks a token for the addressed account and service, in a request of `version`.
    ///
    /// # Errors
    /// 403 AuthenticationFailed without TLS; the failure of [`challenged`] for a malformed token, and for a wrong
    /// signature, time, audience or issuer; with verified rules, 403 AuthorizationPermissionMismatch for a token
    /// without roles.
    pub fn verify(
        &self,
        token: &str,
        account: &str,
        service: ServiceKind,
        caller: &Caller,
        version: Option<Version>,
    ) -> Result<TokenRoles, Failure> {
        if !caller.https {
            return Err(Failure::authentication(
                "bearer tokens are accepted over https only",
            ));
        }
        let claims = self
            .read(token, account, service, caller.now)
            .map_err(|reason| challenged(version, reason))?;
        // Tokens for Azure Storage have no roles, because Azure assigns them elsewhere. Basic rules are for tests and,
        // like Azurite, grant the rights of a contributor to a token without roles. With verified rules, the issuer
        // must put roles into its tokens, because a token without roles can belong to any user of the issuer.
        match (claims.roles, &self.0) {
            (Some(Texts(roles)), _) => Ok(TokenRoles::Named(roles)),
            (None, Rules::Basic) => Ok(TokenRoles::Unrestricted),
            (None, Rules::Verified { .. }) => {
                Err(ErrorCode::AuthorizationPermissionMismatch.into())
            }
        }
    }

    /// The claims of a valid token, or why it is refused.
    fn read(
        &self,
        token: &str,
        account: &str,
        service: ServiceKind,
        now: DateTime,
    ) -> Result<Claims, &'static str> {
        let (signed, signature) = token.rsplit_once('.').ok_or(MALFORMED)?;
        let (header, claims) = signed.split_once('.').ok_or(MALFORMED)?;
        if token.len() > TOKEN_BYTES_MAX {
            return Err(MALFORMED);
        }
        let header: Header = decode(header).ok_or(MALFORMED)?;
        if let Rules::Verified { keys, .. } = &self.0 {
            let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| SIGNATURE)?;
            let key_id = header.kid.as_deref();
            if !keys.verify(&header.alg, key_id, signed.as_bytes(), &signature) {
                return Err(SIGNATURE);
            }
        }
        let claims: Claims = decode(claims).ok_or(MALFORMED)?;
        claims.check_time(now)?;
        let Texts(audiences) = &claims.aud;
        let is_accepted = |audience: &String| self.accepts_audience(audience, account, service);
        if !audiences.iter().any(is_accepted) {
            return Err(AUDIENCE);
        }
        if !self.accepts_issuer(&claims.iss) {
            return Err(ISSUER);
        }
        Ok(claims)
    }

    fn accepts_issuer(&self, text: &str) -> bool {
        match &self.0 {
            Rules::Basic => ISSUERS.iter().any(|issuer| text.starts_with(issuer)),
            Rules::Verified { issuer, .. } => text == issuer,
        }
    }

    fn accepts_audience(&self, text: &str, account: &str, service: ServiceKind) -> bool {
        let text = text.strip_suffix('/').unwrap_or(text);
        match &self.0 {
            Rules::Verified { audiences, .. } if !audiences.is_empty() => audiences
                .iter()
                .any(|audience| audience.strip_suffix('/').unwrap_or(audience) == text),
            Rules::Basic | Rules::Verified { .. } => {
                AUDIENCES.contains(&text)
                    || CLOUDS.iter().any(|cloud| {
                        text == format!("https://{account}.{}.{cloud}", service.label())
                    })
            }
        }
    }
}

impl Claims {
    fn check_time(&self, now: DateTime) -> Result<(), &'static str> {
        let now = (now.ticks() as f64 - DateTime::UNIX_EPOCH.ticks() as f64) / 1e7;
        if now - LEEWAY_SECONDS > self.exp {
            return Err(EXPIRED);
        }
        match self.nbf {
            Some(not_before) if now + LEEWAY_SECONDS < not_before => Err(NOT_YET_VALID),
            _ => Ok(()),
        }
    }
}

fn decode<T: for<'de> Deserialize<'de>>(part: &str) -> Option<T> {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).ok()?).ok()
}

/// The failure of missing credentials and of refused bearer tokens: 401 InvalidAuthenticationInfo with a challenge
/// since version 2019-12-12, before that 403 AuthenticationFailed (azure-sdk-for-python, recording
/// test_challenge_auth_unsupported_version, of version 2019-07-07).
pub fn challenged(version: Option<Version>, reason: &'static str) -> Failure {
    let code = match version {
        Some(version) if version >= Version::CHALLENGE => ErrorCode::MissingCredentials,
        _ => ErrorCode::AuthenticationFailed,
    };
    Failure::new(code).detail("AuthenticationErrorDetail", reason)
}

/// The value of `WWW-Authenticate` of a 401: the URL and the resource for which clients request a token (as recorded
/// from the live service; clients use it to discover their tenant).
pub fn challenge(authorization_uri: &str) -> String {
    format!("Bearer authorization_uri={authorization_uri} resource_id=https://storage.azure.com")
}
