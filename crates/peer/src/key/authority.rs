//! The certificate authority of a cluster: constant parameters, so that it follows from its key.

use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyUsagePurpose, SanType,
};

use super::ServerName;

/// How long before its creation a certificate is valid, for servers whose clock is behind.
const BACKDATED: Duration = Duration::from_secs(3600);

/// How long a certificate is valid.
const VALIDITY: Duration = Duration::from_secs(7 * 86_400);

/// The parameters of the authority. Its name has the fingerprint of the key, so another key is an unknown authority.
pub(super) fn authority(fingerprint: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = named(&format!("Partita cluster {fingerprint}"));
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    params
}

/// The parameters of the certificate of a server, for both sides of a connection.
pub(super) fn leaf(name: &ServerName, now: SystemTime) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::default();
    params.distinguished_name = named("Partita server");
    params.subject_alt_names = vec![SanType::URI(name.uri().as_str().try_into()?)];
    params.use_authority_key_identifier_extension = true;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![
        ExtendedKeyUsagePurpose::ServerAuth,
        ExtendedKeyUsagePurpose::ClientAuth,
    ];
    // Verifiers refuse times before 1970, where the clock of a machine without a battery begins.
    let from = now.checked_sub(BACKDATED).unwrap_or(SystemTime::UNIX_EPOCH);
    params.not_before = from.max(SystemTime::UNIX_EPOCH).into();
    params.not_after = (now + VALIDITY).into();
    Ok(params)
}

fn named(name: &str) -> DistinguishedName {
    let mut distinguished = DistinguishedName::new();
    distinguished.push(DnType::CommonName, name);
    distinguished
}
