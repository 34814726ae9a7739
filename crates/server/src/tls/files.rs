//! Certificates and keys out of files that an operator brings.

use std::path::Path;

use p12_keystore::{KeyStore, Pkcs12ImportPolicy};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

use super::{Error, Identity};

/// A chain and a key out of PEM files; both may lie in one.
pub(super) fn pem(cert: &Path, key: &Path) -> Result<Identity, Error> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&read(cert)?).collect();
    let chain = chain.map_err(|error| content(cert, "certificate", error.to_string()))?;
    if chain.is_empty() {
        return Err(content(
            cert,
            "certificate",
            "it is not PEM, or holds other things".to_owned(),
        ));
    }
    // The error tells the kind of fault and never quotes the key.
    let key_der = PrivateKeyDer::from_pem_slice(&read(key)?);
    let key_der = key_der.map_err(|error| content(key, "private key", error.to_string()))?;
    Ok((chain, key_der))
}

/// The first key with its chain out of a PFX (PKCS#12) file.
pub(super) fn pfx(file: &Path, password: &str) -> Result<Identity, Error> {
    let store = KeyStore::from_pkcs12(&read(file)?, password, Pkcs12ImportPolicy::Strict);
    let store =
        store.map_err(|error| content(file, "PFX store for this password", error.to_string()))?;
    let Some((_, found)) = store.private_key_chain() else {
        return Err(content(
            file,
            "private key",
            "no key comes with its certificate".to_owned(),
        ));
    };
    let chain = found
        .certs()
        .iter()
        .map(|cert| CertificateDer::from(cert.as_der().to_vec()));
    let key = PrivatePkcs8KeyDer::from(found.key().as_der().to_vec());
    Ok((chain.collect(), key.into()))
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    std::fs::read(path).map_err(|source| Error::Io {
        what: "read",
        path: path.to_owned(),
        source,
    })
}

fn content(path: &Path, what: &'static str, reason: String) -> Error {
    Error::Content {
        path: path.to_owned(),
        what,
        reason,
    }
}
