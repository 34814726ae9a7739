//! Reads certificates and keys from the operator's PEM and PFX files.

use std::path::Path;

use p12_keystore::{KeyStore, Pkcs12ImportPolicy};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

use super::{Error, Identity};

/// Reads a chain and a key from PEM files; one file may contain both.
pub(super) fn pem(cert: &Path, key: &Path) -> Result<Identity, Error> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&read(cert)?).collect();
    let chain = chain.map_err(|error| content(cert, "certificate", error))?;
    if chain.is_empty() {
        let reason = "not a PEM file with a CERTIFICATE section";
        return Err(content(cert, "certificate", reason));
    }
    // The error names the kind of fault and never quotes the key.
    let key_der = PrivateKeyDer::from_pem_slice(&read(key)?);
    let key_der = key_der.map_err(|error| content(key, "private key", error))?;
    Ok((chain, key_der))
}

/// Reads the first key with its chain from a PFX (PKCS#12) file.
pub(super) fn pfx(file: &Path, password: &str) -> Result<Identity, Error> {
    let store = KeyStore::from_pkcs12(&read(file)?, password, Pkcs12ImportPolicy::Strict);
    let store = store.map_err(|error| content(file, "PFX store for this password", error))?;
    let Some((_, found)) = store.private_key_chain() else {
        let reason = "no key with a matching certificate";
        return Err(content(file, "private key", reason));
    };
    let chain = found.certs().iter();
    let chain = chain.map(|cert| CertificateDer::from(cert.as_der().to_vec()));
    let key = PrivatePkcs8KeyDer::from(found.key().as_der().to_vec());
    Ok((chain.collect(), key.into()))
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    std::fs::read(path).map_err(|source| Error::io("read", path, source))
}

fn content(path: &Path, what: &'static str, reason: impl ToString) -> Error {
    Error::Content {
        path: path.to_owned(),
        what,
        reason: reason.to_string(),
    }
}
