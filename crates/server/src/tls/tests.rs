//! Every source of a certificate, tested by a handshake with a client that trusts it.

use std::path::Path;
use std::sync::Arc;

use p12_keystore::KeyStore;
use partita_rt::SystemClock;
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConnection};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, ServerName};

use super::*;
use crate::config::tests::from_flags as settings;

fn load_flags(flags: &[(&str, &str)]) -> Result<Loaded, Error> {
    load(&settings(flags), &SystemClock).map(Option::unwrap)
}

/// Runs a handshake in memory. Returns the error of the client.
fn handshake(loaded: &Loaded, trusted: &Path, name: &str) -> Result<(), rustls::Error> {
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_file(trusted).unwrap())
        .unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let mut client = ClientConnection::new(Arc::new(config), name).unwrap();
    let mut server = ServerConnection::new(Arc::clone(&loaded.config)).unwrap();
    while client.is_handshaking() || server.is_handshaking() {
        let mut bytes = Vec::new();
        client.write_tls(&mut bytes).unwrap();
        server.read_tls(&mut bytes.as_slice()).unwrap();
        server.process_new_packets().unwrap();
        bytes.clear();
        server.write_tls(&mut bytes).unwrap();
        client.read_tls(&mut bytes.as_slice()).unwrap();
        client.process_new_packets()?;
    }
    Ok(())
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn the_local_authority_is_created_once_and_signs_every_host_name() {
    let home = tempfile::tempdir().unwrap();
    let flags = [
        ("tls", "dev"),
        ("location", text(home.path())),
        ("host-suffix", "tables.example"),
    ];
    let first = load_flags(&flags).unwrap();
    let authority = first.authority.clone().unwrap();
    assert_eq!(
        authority,
        authority_directory(&settings(&flags)).join(CERTIFICATE)
    );
    let made = std::fs::read(&authority).unwrap();
    for name in [
        "localhost",
        "127.0.0.1",
        "::1",
        "devstoreaccount1.tables.example",
        "devstoreaccount1-secondary.tables.example",
        "other.tables.example",
        "devstoreaccount1.localhost",
    ] {
        handshake(&first, &authority, name).unwrap();
    }
    assert!(handshake(&first, &authority, "elsewhere.example").is_err());

    // A client that trusts the authority of the first start also trusts the second start.
    let second = load_flags(&flags).unwrap();
    assert_eq!(std::fs::read(&authority).unwrap(), made);
    handshake(&second, &authority, "localhost").unwrap();

    // Without the certificate file the authority stays the same; without the key file a new authority is created.
    let copy = home.path().join("copy.pem");
    std::fs::copy(&authority, &copy).unwrap();
    std::fs::remove_file(&authority).unwrap();
    handshake(&load_flags(&flags).unwrap(), &copy, "localhost").unwrap();
    std::fs::remove_file(home.path().join("tls/ca-key.pem")).unwrap();
    let third = load_flags(&flags).unwrap();
    assert!(handshake(&third, &copy, "localhost").is_err());
    handshake(&third, &authority, "localhost").unwrap();
}

#[cfg(unix)]
#[test]
fn only_the_owner_reads_the_authoritys_key() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = tempfile::tempdir().unwrap();
    load_flags(&[("tls", "dev"), ("location", text(home.path()))]).unwrap();
    let key = std::fs::metadata(home.path().join("tls/ca-key.pem")).unwrap();
    assert_eq!(key.permissions().mode() & 0o777, 0o600);
}

/// Creates a chain and a key in PEM files, as an operator would provide them.
fn bring(directory: &Path) -> (PathBuf, PathBuf) {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let (cert, key) = (directory.join("cert.pem"), directory.join("key.pem"));
    std::fs::write(&cert, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    (cert, key)
}

#[test]
fn pem_files_are_served() {
    let home = tempfile::tempdir().unwrap();
    let (cert, key) = bring(home.path());
    let loaded = load_flags(&[("cert", text(&cert)), ("key", text(&key))]).unwrap();
    assert_eq!(loaded.authority, None);
    handshake(&loaded, &cert, "localhost").unwrap();
}

#[test]
fn pfx_files_are_served() {
    let home = tempfile::tempdir().unwrap();
    let (cert, key) = bring(home.path());
    let key_der = PrivateKeyDer::from_pem_file(&key).unwrap();
    let key = p12_keystore::PrivateKey::from_der(key_der.secret_der()).unwrap();
    let leaf = CertificateDer::from_pem_file(&cert).unwrap();
    let leaf = p12_keystore::Certificate::from_der(&leaf).unwrap();
    let chain = p12_keystore::PrivateKeyChain::new(b"id".as_slice(), key, [leaf]);
    let mut store = KeyStore::new();
    store.add_entry(
        "server",
        p12_keystore::KeyStoreEntry::PrivateKeyChain(chain),
    );
    let file = home.path().join("server.pfx");
    std::fs::write(&file, store.writer("open sesame").write().unwrap()).unwrap();

    let loaded = load_flags(&[("cert", text(&file)), ("pwd", "open sesame")]).unwrap();
    handshake(&loaded, &cert, "localhost").unwrap();
    let error = load_flags(&[("cert", text(&file)), ("pwd", "wrong")])
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("PFX store for this password") && !error.contains("wrong"),
        "{error}"
    );
}

#[test]
fn unusable_files_are_named() {
    let home = tempfile::tempdir().unwrap();
    let (cert, key) = bring(home.path());
    let refused = |cert: &Path, key: &Path| {
        load_flags(&[("cert", text(cert)), ("key", text(key))]).unwrap_err()
    };
    let missing = home.path().join("missing.pem");
    assert!(matches!(refused(&missing, &key), Error::Io { path, .. } if path == missing));
    assert!(matches!(
        refused(&key, &key),
        Error::Content {
            what: "certificate",
            ..
        }
    ));
    assert!(matches!(
        refused(&cert, &cert),
        Error::Content {
            what: "private key",
            ..
        }
    ));

    let elsewhere = tempfile::tempdir().unwrap();
    let (_, other_key) = bring(elsewhere.path());
    assert!(matches!(refused(&cert, &other_key), Error::Rejected(_)));
    std::fs::write(
        &cert,
        "-----BEGIN CERTIFICATE-----\n%%%\n-----END CERTIFICATE-----\n",
    )
    .unwrap();
    assert!(matches!(
        refused(&cert, &key),
        Error::Content {
            what: "certificate",
            ..
        }
    ));
}
