//! `Content-MD5`: the digest that a client sends with a body.

use crate::{ErrorCode, Failure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use md5::{Digest as _, Md5};

/// Compares a body with the value of its `Content-MD5`. An empty value is ignored, because some clients sign and send
/// an empty header.
///
/// # Errors
/// 400 InvalidMd5 for a value that is not 16 bytes in Base64, 400 Md5Mismatch for a value that is not the digest of the
/// body (document "Common REST API error codes").
pub fn check_content_md5(value: &str, body: &[u8]) -> Result<(), Failure> {
    if value.is_empty() {
        return Ok(());
    }
    let sent = STANDARD.decode(value).ok().filter(|sent| sent.len() == 16);
    let sent = sent.ok_or(ErrorCode::InvalidMd5)?;
    if sent == Md5::digest(body).as_slice() {
        Ok(())
    } else {
        Err(ErrorCode::Md5Mismatch.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The digests of RFC 1321, A.5.
    #[test]
    fn a_body_with_another_digest_is_refused() {
        let code = |value: &str, body: &str| {
            check_content_md5(value, body.as_bytes()).map_err(|failure| failure.code)
        };
        assert_eq!(code("", "anything"), Ok(()));
        assert_eq!(code("1B2M2Y8AsgTpgAmY7PhCfg==", ""), Ok(()));
        assert_eq!(code("kAFQmDzST7DWlj99KOF/cg==", "abc"), Ok(()));
        let mismatch = Err(ErrorCode::Md5Mismatch);
        assert_eq!(code("kAFQmDzST7DWlj99KOF/cg==", "abd"), mismatch);
        for no_digest in [
            "x",
            "kAFQmDzST7DWlj99KOF/",
            "900150983cd24fb0d6963f7d28e17f72",
        ] {
            assert_eq!(
                code(no_digest, "abc"),
                Err(ErrorCode::InvalidMd5),
                "{no_digest}"
            );
        }
    }
}
