//! The rules for bearer tokens, from the settings.

use partita_wire::{BearerRules, Jwks};

use super::error::Error;
use crate::config::Oauth;

/// The rules for bearer tokens. Blocking: reads a small file.
pub(super) fn bearer_rules(oauth: &Oauth) -> Result<Option<BearerRules>, Error> {
    let (issuer, audiences, path) = match oauth {
        Oauth::Off => return Ok(None),
        Oauth::Basic => return Ok(Some(BearerRules::basic())),
        Oauth::Verified {
            issuer,
            audiences,
            jwks,
        } => (issuer.clone(), audiences.clone(), jwks),
    };
    let read = || Ok(Jwks::parse(&std::fs::read(path)?)?);
    let keys = read().map_err(|source| Error::Jwks {
        path: path.clone(),
        source,
    })?;
    Ok(Some(BearerRules::verified(issuer, audiences, keys)))
}

/// The URL in the challenge, where clients get a token: the URL of the issuer, or the URL that Azurite sends.
pub(super) fn authorization_uri(oauth: &Oauth) -> String {
    match oauth {
        Oauth::Verified { issuer, .. } => {
            format!("{}/oauth2/authorize", issuer.trim_end_matches('/'))
        }
        Oauth::Off | Oauth::Basic => {
            "https://login.microsoftonline.com/common/oauth2/authorize".to_owned()
        }
    }
}
