//! Account keys, which sign with HMAC-SHA256. The HMAC is initialized once for each key.

use crate::Failure;
use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use ring::hmac;
use std::fmt;
use thiserror::Error;

/// The maximum length of a key, in bytes; keys of the service have 64 bytes.
const KEY_BYTES_MAX: usize = 1024;

/// Standard base64 with or without padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The text is not an account key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("an account key is base64 of 1 to {KEY_BYTES_MAX} bytes")]
pub struct InvalidAccountKey;

/// One key of an account. It holds the initial state of the HMAC; copying this state is much faster than hashing the
/// key again.
#[derive(Clone)]
pub struct AccountKey(hmac::Key);

impl AccountKey {
    /// Reads a key in Base64.
    ///
    /// # Errors
    /// [`InvalidAccountKey`].
    pub fn from_base64(text: &str) -> Result<Self, InvalidAccountKey> {
        if text.len() > KEY_BYTES_MAX * 2 {
            return Err(InvalidAccountKey);
        }
        let key = BASE64.decode(text.trim()).map_err(|_| InvalidAccountKey)?;
        if key.is_empty() || key.len() > KEY_BYTES_MAX {
            return Err(InvalidAccountKey);
        }
        Ok(Self(hmac::Key::new(hmac::HMAC_SHA256, &key)))
    }

    /// The signature of the joined parts in Base64, as clients send it.
    pub fn sign(&self, parts: &[&str]) -> String {
        BASE64.encode(hmac::sign(&self.0, parts.concat().as_bytes()))
    }
}

impl fmt::Debug for AccountKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AccountKey(…)")
    }
}

/// The one or two keys of an account; a signature by either is valid.
#[derive(Debug, Clone)]
pub struct AccountKeys {
    primary: AccountKey,
    secondary: Option<AccountKey>,
}

impl AccountKeys {
    /// Keys of an account.
    pub const fn new(primary: AccountKey, secondary: Option<AccountKey>) -> Self {
        Self { primary, secondary }
    }

    /// The first key.
    pub const fn primary(&self) -> &AccountKey {
        &self.primary
    }

    /// Whether one of the keys made the signature of the joined parts. The comparison takes constant time.
    pub(super) fn verify(&self, parts: &[&str], signature: &Signature) -> bool {
        let signed = parts.concat();
        let fits = |key: &AccountKey| hmac::verify(&key.0, signed.as_bytes(), &signature.0).is_ok();
        fits(&self.primary) || self.secondary.as_ref().is_some_and(fits)
    }
}

/// The failure for a wrong signature, 403 AuthenticationFailed. As in the service, its detail has the string to sign,
/// which is not secret and helps client developers.
pub(crate) fn mismatch(parts: &[&str]) -> Failure {
    Failure::authentication(format!(
        "the signature does not match; the server signed '{}'",
        parts.concat()
    ))
}

/// A signature as received.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Signature([u8; 32]);

impl Signature {
    /// Decodes base64; `None` unless it has 32 bytes.
    pub(super) fn from_base64(text: &str) -> Option<Self> {
        // 33 bytes, because the decoder needs space for whole groups of three.
        let mut bytes = [0; 33];
        if text.len() > 44 {
            return None;
        }
        let count = BASE64.decode_slice(text, &mut bytes).ok()?;
        let (signature, _) = bytes.split_first_chunk::<32>()?;
        (count == 32).then_some(Self(*signature))
    }
}

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Signature(…)")
    }
}
