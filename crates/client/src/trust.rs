//! The certificate authorities that the client trusts.

use crate::{ClientOptions, Error, ErrorKind};
use rustls::RootCertStore;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;
use std::error::Error as StdError;

/// The caller's certificate authorities and, for TLS, those of the features `native-roots` and `webpki-roots`.
pub(crate) fn authorities(options: &ClientOptions, tls: bool) -> Result<RootCertStore, Error> {
    let mut roots = RootCertStore::empty();
    let invalid = |error: Box<dyn StdError + Send + Sync>| {
        Error::new(ErrorKind::Tls, "invalid certificate authority").caused_by(error)
    };
    for pem in &options.authorities_pem {
        let before = roots.len();
        for certificate in CertificateDer::pem_slice_iter(pem) {
            let certificate = certificate.map_err(|error| invalid(error.into()))?;
            roots
                .add(certificate)
                .map_err(|error| invalid(error.into()))?;
        }
        if roots.len() == before {
            return Err(invalid("the PEM contains no certificate".into()));
        }
    }
    if tls {
        #[cfg(feature = "native-roots")]
        add_authorities_of_the_machine(&mut roots);
        #[cfg(feature = "webpki-roots")]
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        if roots.is_empty() {
            let message =
                "no trusted certificate authority: neither the machine nor the options have one";
            return Err(Error::new(ErrorKind::Tls, message));
        }
    }
    Ok(roots)
}

#[cfg(feature = "native-roots")]
fn add_authorities_of_the_machine(roots: &mut RootCertStore) {
    let machine = rustls_native_certs::load_native_certs();
    let (_, refused) = roots.add_parsable_certificates(machine.certs);
    if refused > 0 {
        tracing::debug!(
            refused,
            "some of the machine's certificate authorities are invalid"
        );
    }
}
