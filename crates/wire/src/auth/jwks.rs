//! The published keys of a token issuer (RFC 7517) and the check of a token's signature (RFC 7515).
//!
//! Supports RSA (RS256, RS384, RS512, PS256) and P-256 (ES256). An algorithm is accepted only with a key of the
//! matching type, so that a token can choose neither `none` nor a shared secret.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA384,
    RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256, RsaParameters, RsaPublicKeyComponents,
    UnparsedPublicKey,
};
use serde::Deserialize;
use thiserror::Error;

/// The maximum number of keys read from one document.
const KEYS_MAX: usize = 64;

/// Why a document is not a usable key set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum InvalidJwks {
    /// Not the JSON of a key set.
    #[error("not a JSON Web Key Set")]
    Malformed,
    /// A key set without an RSA or P-256 key for signatures.
    #[error("the key set has no RSA or P-256 key for signatures")]
    NoKeys,
}

/// The keys of an issuer.
#[derive(Debug, Clone)]
pub struct Jwks(Vec<Key>);

#[derive(Debug, Clone)]
struct Key {
    id: Option<String>,
    public: Public,
}

#[derive(Debug, Clone)]
enum Public {
    /// Modulus and exponent, big-endian.
    Rsa { n: Vec<u8>, e: Vec<u8> },
    /// The point, uncompressed (0x04, x, y).
    P256(Vec<u8>),
}

#[derive(Deserialize)]
struct Document {
    keys: Vec<Jwk>,
}

#[derive(Deserialize)]
struct Jwk {
    kty: String,
    kid: Option<String>,
    #[serde(rename = "use")]
    usage: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

impl Jwks {
    /// Reads a key set in the form that issuers publish. Keys of other kinds are ignored.
    ///
    /// # Errors
    /// [`InvalidJwks`].
    pub fn parse(json: &[u8]) -> Result<Self, InvalidJwks> {
        let document: Document =
            serde_json::from_slice(json).map_err(|_| InvalidJwks::Malformed)?;
        let keys: Vec<Key> = document
            .keys
            .iter()
            .take(KEYS_MAX)
            .filter_map(Key::of)
            .collect();
        if keys.is_empty() {
            Err(InvalidJwks::NoKeys)
        } else {
            Ok(Self(keys))
        }
    }

    /// Whether one of the keys made the signature. A token that names a key is checked only against that key, and
    /// against keys without an id.
    pub(super) fn verify(
        &self,
        algorithm: &str,
        id: Option<&str>,
        signed: &[u8],
        signature: &[u8],
    ) -> bool {
        let named = |key: &&Key| id.is_none() || key.id.is_none() || key.id.as_deref() == id;
        self.0
            .iter()
            .filter(named)
            .any(|key| key.public.verify(algorithm, signed, signature))
    }
}

impl Key {
    fn of(jwk: &Jwk) -> Option<Self> {
        if jwk.usage.as_deref().is_some_and(|usage| usage != "sig") {
            return None;
        }
        let public = match (jwk.kty.as_str(), jwk.crv.as_deref()) {
            ("RSA", _) => Public::Rsa {
                n: number(jwk.n.as_deref()?)?,
                e: number(jwk.e.as_deref()?)?,
            },
            ("EC", Some("P-256")) => {
                let x = coordinate(jwk.x.as_deref()?)?;
                let y = coordinate(jwk.y.as_deref()?)?;
                Public::P256([&[0x04][..], &x, &y].concat())
            }
            _ => return None,
        };
        Some(Self {
            id: jwk.kid.clone(),
            public,
        })
    }
}

impl Public {
    fn verify(&self, algorithm: &str, signed: &[u8], signature: &[u8]) -> bool {
        match self {
            Self::Rsa { n, e } => {
                let parameters: &RsaParameters = match algorithm {
                    "RS256" => &RSA_PKCS1_2048_8192_SHA256,
                    "RS384" => &RSA_PKCS1_2048_8192_SHA384,
                    "RS512" => &RSA_PKCS1_2048_8192_SHA512,
                    "PS256" => &RSA_PSS_2048_8192_SHA256,
                    _ => return false,
                };
                RsaPublicKeyComponents { n, e }
                    .verify(parameters, signed, signature)
                    .is_ok()
            }
            Self::P256(point) => {
                algorithm == "ES256"
                    && UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point)
                        .verify(signed, signature)
                        .is_ok()
            }
        }
    }
}

/// A big-endian number without leading zeros, which `ring` requires.
fn number(text: &str) -> Option<Vec<u8>> {
    let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    let number = bytes.get(zeros..)?.to_vec();
    (!number.is_empty()).then_some(number)
}

fn coordinate(text: &str) -> Option<[u8; 32]> {
    URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok()
}
