use std::fs;
use std::path::Path;
use std::sync::Arc;

use partita_rt::SystemClock;
use rustls::CipherSuite;

use super::*;

#[test]
fn a_key_is_written_once_and_read() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("cluster.key");
    let key = ClusterKey::create().unwrap();
    key.write(&path).unwrap();
    let read = ClusterKey::read(&path).unwrap();
    assert_eq!(read.fingerprint(), key.fingerprint());
    assert_eq!(read.fingerprint().len(), 16);
    assert_eq!(fs::read_to_string(&path).unwrap(), key.text());
    assert!(key.text().contains("Keep it secret"));

    let other = ClusterKey::create().unwrap();
    assert_ne!(other.fingerprint(), key.fingerprint());
    let refused = other.write(&path).unwrap_err().to_string();
    assert!(
        refused.contains("a cluster key is never replaced"),
        "{refused}"
    );
    assert_eq!(
        ClusterKey::read(&path).unwrap().fingerprint(),
        key.fingerprint()
    );
}

#[cfg(unix)]
#[test]
fn a_key_that_others_can_read_is_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("cluster.key");
    ClusterKey::create().unwrap().write(&path).unwrap();
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    for mode in [0o640, 0o604, 0o620, 0o644] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let refused = ClusterKey::read(&path).unwrap_err().to_string();
        let expected = format!("can be read by other users (mode {mode:03o}): run chmod 600 ");
        assert!(refused.contains(&expected), "{refused}");
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
    ClusterKey::read(&path).unwrap();
}

fn refused(path: &Path) -> String {
    ClusterKey::read(path).unwrap_err().to_string()
}

#[test]
fn files_that_are_no_keys_are_named() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("missing.key");
    let text = refused(&path);
    assert!(
        text.contains("missing.key not found: copy the key"),
        "{text}"
    );
    assert!(text.contains("partita cluster key -o"), "{text}");

    let other_kind = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519).unwrap();
    let cut = ClusterKey::create()
        .unwrap()
        .text()
        .replace("PRIVATE", "PUBLIC");
    for (name, content, reason) in [
        ("empty.key", String::new(), "no items found"),
        ("other.key", other_kind.serialize_pem(), "not of type P-256"),
        ("cut.key", cut, "no items found"),
    ] {
        let path = home.path().join(name);
        fs::write(&path, content).unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        }
        let text = refused(&path);
        assert!(
            text.contains(name) && text.contains("is not a cluster key"),
            "{text}"
        );
        assert!(text.contains(reason), "{text}");
    }
}

#[test]
fn no_text_shows_the_key() {
    let key = ClusterKey::create().unwrap();
    assert_eq!(
        format!("{key:?}"),
        format!("ClusterKey({})", key.fingerprint())
    );
}

/// Runs the handshake between two servers of a cluster in memory.
#[test]
fn peers_encrypt_with_aes_128() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("cluster.key");
    ClusterKey::create().unwrap().write(&path).unwrap();
    let identity = |name| {
        let key = ClusterKey::read(&path).unwrap();
        Identity::issue(key, ServerName::new(name).unwrap(), Arc::new(SystemClock)).unwrap()
    };
    let (front, owner) = (identity("front"), identity("owner"));
    let config = front.client_config(owner.name().clone()).unwrap();
    let unused = "owner".try_into().unwrap();
    let mut client = rustls::ClientConnection::new(config, unused).unwrap();
    let mut server = rustls::ServerConnection::new(owner.server_config().unwrap()).unwrap();
    while client.is_handshaking() || server.is_handshaking() {
        let mut bytes = Vec::new();
        client.write_tls(&mut bytes).unwrap();
        server.read_tls(&mut bytes.as_slice()).unwrap();
        server.process_new_packets().unwrap();
        bytes.clear();
        server.write_tls(&mut bytes).unwrap();
        client.read_tls(&mut bytes.as_slice()).unwrap();
        client.process_new_packets().unwrap();
    }
    let suite = client.negotiated_cipher_suite().unwrap().suite();
    assert_eq!(suite, CipherSuite::TLS13_AES_128_GCM_SHA256);
}

#[test]
fn server_names_are_hosts_ports_and_words() {
    for name in ["a", "10.0.0.7:10011", "[::1]:10011", "server-7.rack_2"] {
        let parsed = ServerName::new(name).unwrap();
        assert_eq!(ServerName::from_uri(&parsed.uri()), Some(parsed));
    }
    for name in ["", "a b", "a/b", "ü", "a\n", &"x".repeat(256)] {
        let error = ServerName::new(name).unwrap_err().to_string();
        assert!(error.contains("invalid server name"), "{error}");
    }
    assert_eq!(ServerName::from_uri("https://server/a"), None);
}
