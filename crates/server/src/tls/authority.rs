//! The local certificate authority of `--tls dev`: created once, it signs a new server certificate at each start.
//!
//! Clients trust the authority, so its key and certificate are kept as files. The server's certificate is not: a new
//! one at each start has the current host names and a full period of validity, and its key exists in memory only. The
//! authority's key is readable by its owner only: with it, any site can be impersonated towards clients that trust the
//! authority.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose,
};
use rustls_pki_types::PrivatePkcs8KeyDer;

use super::{Error, Identity};

/// The variables that make clients trust a certificate: of Node, of Python requests, of OpenSSL and Rust.
pub const TRUST_VARIABLES: [&str; 3] =
    ["NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"];

/// File name of the authority's certificate.
pub const CERTIFICATE: &str = "ca.pem";
const KEY: &str = "ca-key.pem";

const DAY: Duration = Duration::from_secs(86_400);
const AUTHORITY_DAYS: u32 = 3650;
/// The validity of a server certificate in days. Apple's clients refuse more than 825.
const SERVER_DAYS: u32 = 820;

/// Creates a server certificate for `names`, and first the authority if it is missing. Returns the identity and the
/// path of the authority's certificate.
pub(super) fn issue(
    directory: &Path,
    names: &[String],
    now: SystemTime,
) -> Result<(Identity, PathBuf), Error> {
    let certificate = directory.join(CERTIFICATE);
    let key = directory.join(KEY);
    fs::create_dir_all(directory).map_err(|source| Error::io("create", directory, source))?;
    let pair = match fs::read_to_string(&key) {
        Ok(pem) => KeyPair::from_pem(&pem).map_err(|error| Error::Content {
            path: key.clone(),
            what: "private key",
            reason: error.to_string(),
        })?,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let pair = KeyPair::generate()?;
            // A certificate without its key is useless, so it is created again too.
            remove(&certificate)?;
            write(&key, &pair.serialize_pem(), PRIVATE)?;
            pair
        }
        Err(source) => return Err(Error::io("read", &key, source)),
    };
    let params = authority_params(now);
    if !certificate.exists() {
        write(&certificate, &params.self_signed(&pair)?.pem(), PUBLIC)?;
    }
    // An issuer needs only name and key, and the name is constant: the certificate is not read.
    let issuer = Issuer::new(params, pair);
    let server_pair = KeyPair::generate()?;
    let server = server_params(names, now)?.signed_by(&server_pair, &issuer)?;
    let server_key = PrivatePkcs8KeyDer::from(server_pair.serialize_der());
    Ok(((vec![server.der().clone()], server_key.into()), certificate))
}

fn authority_params(now: SystemTime) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = named("Partita local authority");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    (params.not_before, params.not_after) = validity(now, AUTHORITY_DAYS);
    params
}

fn server_params(names: &[String], now: SystemTime) -> Result<CertificateParams, Error> {
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name = named("Partita");
    params.use_authority_key_identifier_extension = true;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    (params.not_before, params.not_after) = validity(now, SERVER_DAYS);
    Ok(params)
}

fn named(name: &str) -> DistinguishedName {
    let mut distinguished = DistinguishedName::new();
    distinguished.push(DnType::CommonName, name);
    distinguished
}

/// The period in which a certificate is valid. It starts a day ago, for clients whose clock is behind.
fn validity(now: SystemTime, days: u32) -> (time::OffsetDateTime, time::OffsetDateTime) {
    ((now - DAY).into(), (now + DAY * days).into())
}

/// The permissions of the key: a file that only its owner may read.
const PRIVATE: u32 = 0o600;
const PUBLIC: u32 = 0o666;

/// Writes a file completely or not at all, with these permissions, reduced by the umask of the process.
fn write(path: &Path, text: &str, mode: u32) -> Result<(), Error> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    #[cfg(not(unix))]
    let _ = mode;
    let unfinished = path.with_extension("tmp");
    remove(&unfinished)?;
    let written = options.open(&unfinished).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&unfinished, path)
    });
    written.map_err(|source| Error::io("write", path, source))
}

fn remove(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::io("remove", path, error)),
        _ => Ok(()),
    }
}
