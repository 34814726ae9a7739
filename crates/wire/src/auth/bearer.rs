//! Bearer tokens: JSON Web Tokens of Microsoft Entra ID, or of an issuer of one's own.
//!
//! Two sets of rules: [`BearerRules::basic`] believes what a token says of itself, as Azurite's `--oauth basic` does, and is
//! for tests only; [`BearerRules::verified`] checks its signature against the issuer's published keys.

use super::access::{Access, Role};
use super::{Caller, Jwks};
use crate::{ErrorCode, Failure};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use partita_model::DateTime;
use serde::Deserialize;

/// The longest token read, in bytes.
const TOKEN_BYTES_MAX: usize = 16 * 1024;
/// How far clocks of issuer and server may differ, in seconds.
const LEEWAY_SECONDS: f64 = 60.0;
/// Issuers that basic rules believe: the clouds that Azurite knows, and the newer form of the public one.
const ISSUERS: [&str; 6] = [
    "https://sts.windows.net/",
    "https://sts.microsoftonline.de/",
    "https://sts.chinacloudapi.cn/",
    "https://sts.windows-ppe.net/",
    "https://login.microsoftonline.com/",
    "https://login.partner.microsoftonline.cn/",
];
/// The audience of all of Azure Storage, as a name and as an application id.
const AUDIENCES: [&str; 2] = [
    "https://storage.azure.com",
    "e406a681-f3d4-42a8-90b6-c2b029497af1",
];
/// Where accounts live in the clouds, below `https://account.table.`.
const CLOUDS: [&str; 4] = [
    "core.windows.net",
    "core.chinacloudapi.cn",
    "core.usgovcloudapi.net",
    "core.cloudapi.de",
];
/// Roles by name and by id (document "Azure built-in roles").
const ROLES: [(&str, Role); 4] = [
    ("Storage Table Data Contributor", Role::Contributor),
    ("0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3", Role::Contributor),
    ("Storage Table Data Reader", Role::Reader),
    ("76199698-9eea-4c19-bc75-cec21354c6b6", Role::Reader),
];

/// What a token must fulfil.
#[derive(Debug, Clone)]
pub struct BearerRules(Rules);

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
    aud: OneOrMany,
    nbf: Option<f64>,
    exp: f64,
    roles: Option<OneOrMany>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl OneOrMany {
    fn as_slice(&self) -> &[String] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Many(many) => many,
        }
    }
}

impl BearerRules {
    /// Checks the shape of the issuer, the audience and the times; no signature. For tests only.
    #[must_use]
    pub const fn basic() -> Self {
        Self(Rules::Basic)
    }

    /// Checks the signature besides, an exact issuer, and the audiences given (those of Azure Storage if there are none).
    #[must_use]
    pub const fn verified(issuer: String, audiences: Vec<String>, keys: Jwks) -> Self {
        Self(Rules::Verified {
            issuer,
            audiences,
            keys,
        })
    }

    /// Checks a token for the account addressed.
    ///
    /// # Errors
    /// 403 AuthenticationFailed without TLS; 401 with a challenge for a token that is none, is not for us, is not of its
    /// time, or has a wrong signature; 403 AuthorizationPermissionMismatch for one with roles, but none of ours, and by
    /// verified rules for one without roles.
    pub fn verify(&self, token: &str, account: &str, caller: &Caller) -> Result<Access, Failure> {
        if !caller.https {
            return Err(Failure::authentication(
                "bearer tokens are taken over https only",
            ));
        }
        let claims = self
            .read(token, account, caller.now)
            .ok_or(ErrorCode::MissingCredentials)?;
        self.role(&claims)
            .map(Access::role)
            .ok_or_else(|| ErrorCode::AuthorizationPermissionMismatch.into())
    }

    /// Tokens for Azure Storage carry no roles, because Azure keeps them apart. Basic rules, which are for tests, let such a token
    /// do all that a contributor may, as Azurite does. Whoever runs an issuer of his own puts roles in: a token of it without them
    /// may be anybody's whom that issuer knows.
    fn role(&self, claims: &Claims) -> Option<Role> {
        match (&claims.roles, &self.0) {
            (Some(roles), _) => role_of(roles.as_slice()),
            (None, Rules::Basic) => Some(Role::Contributor),
            (None, Rules::Verified { .. }) => None,
        }
    }

    fn read(&self, token: &str, account: &str, now: DateTime) -> Option<Claims> {
        if token.len() > TOKEN_BYTES_MAX {
            return None;
        }
        let (signed, signature) = token.rsplit_once('.')?;
        let (header, claims) = signed.split_once('.')?;
        let header: Header = decode(header)?;
        if let Rules::Verified { keys, .. } = &self.0 {
            let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
            if !keys.verify(
                &header.alg,
                header.kid.as_deref(),
                signed.as_bytes(),
                &signature,
            ) {
                return None;
            }
        }
        let claims: Claims = decode(claims)?;
        let fits = self.knows_issuer(&claims.iss)
            && claims
                .aud
                .as_slice()
                .iter()
                .any(|audience| self.knows_audience(audience, account))
            && claims.is_of(now);
        fits.then_some(claims)
    }

    fn knows_issuer(&self, text: &str) -> bool {
        match &self.0 {
            Rules::Basic => ISSUERS.iter().any(|issuer| text.starts_with(issuer)),
            Rules::Verified { issuer, .. } => text == issuer,
        }
    }

    fn knows_audience(&self, text: &str, account: &str) -> bool {
        let text = text.strip_suffix('/').unwrap_or(text);
        match &self.0 {
            Rules::Verified { audiences, .. } if !audiences.is_empty() => audiences
                .iter()
                .any(|audience| audience.strip_suffix('/').unwrap_or(audience) == text),
            Rules::Basic | Rules::Verified { .. } => {
                AUDIENCES.contains(&text)
                    || CLOUDS
                        .iter()
                        .any(|cloud| text == format!("https://{account}.table.{cloud}"))
            }
        }
    }
}

impl Claims {
    fn is_of(&self, now: DateTime) -> bool {
        let now = (now.ticks() as f64 - DateTime::UNIX_EPOCH.ticks() as f64) / 1e7;
        self.nbf
            .is_none_or(|not_before| now + LEEWAY_SECONDS >= not_before)
            && now - LEEWAY_SECONDS <= self.exp
    }
}

/// The one of our roles that reaches furthest.
fn role_of(roles: &[String]) -> Option<Role> {
    let held = |role: Role| {
        let known = |name: &String| ROLES.iter().any(|(known, of)| *of == role && name == known);
        roles.iter().any(known)
    };
    [Role::Contributor, Role::Reader]
        .into_iter()
        .find(|role| held(*role))
}

fn decode<T: for<'de> Deserialize<'de>>(part: &str) -> Option<T> {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).ok()?).ok()
}

/// The value of `WWW-Authenticate` on a 401: where clients get a token, and for what (recorded from the live service by
/// clients that ask for the tenant this way).
#[must_use]
pub fn challenge(authorization_uri: &str) -> String {
    format!("Bearer authorization_uri={authorization_uri} resource_id=https://storage.azure.com")
}
