//! TLS, users, and several members.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use partita_coordinator::{EtcdConfig, EtcdRegistry, Registry as _, RegistryError, Routes};
use partita_rt::Tasks;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

use crate::members::{elected, have_survived, join, served, when, when_elected};
use crate::process::{Etcd, answers, registry};

/// Writes a certificate and its key, signed by the authority, for this host.
fn issue(authority: &CertifiedIssuer<'_, KeyPair>, folder: &Path, name: &str) {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let cert = params.signed_by(&key, authority).unwrap();
    fs::write(folder.join(format!("{name}.pem")), cert.pem()).unwrap();
    fs::write(folder.join(format!("{name}-key.pem")), key.serialize_pem()).unwrap();
}

#[tokio::test]
async fn tls_with_an_authority_and_a_client_certificate() {
    let folder = tempfile::tempdir().unwrap();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    fs::write(folder.path().join("ca.pem"), authority.pem()).unwrap();
    issue(&authority, folder.path(), "server");
    issue(&authority, folder.path(), "client");
    let file = |name: &str| folder.path().join(name).display().to_string();
    let etcd = Etcd::start_with(
        &[
            &format!("--cert-file={}", file("server.pem")),
            &format!("--key-file={}", file("server-key.pem")),
            &format!("--trusted-ca-file={}", file("ca.pem")),
            "--client-cert-auth",
        ],
        "https",
    );
    let url = format!("etcds://127.0.0.1:{}/test", etcd.port);
    let connect = |variables: &[(&str, &str)]| {
        let config = EtcdConfig::parse(&url, |name| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, file_name)| file(file_name))
        });
        EtcdRegistry::new(config.unwrap()).unwrap()
    };
    let identity = [
        ("PARTITA_ETCD_CA", "ca.pem"),
        ("PARTITA_ETCD_CERT", "client.pem"),
        ("PARTITA_ETCD_KEY", "client-key.pem"),
    ];
    answers(&connect(&identity)).await;
    // Without the client's certificate, and with the machine's authorities.
    for refused in [&identity[..1], &identity[1..]] {
        assert!(connect(refused).get("k").await.is_err(), "{refused:?}");
    }
}

#[tokio::test]
async fn a_user_with_a_password() {
    let etcd = Etcd::start();
    let anonymous = etcd.registry().await;
    etcd.ctl(&["user", "add", "root:secret"]);
    etcd.ctl(&["user", "grant-role", "root", "root"]);
    etcd.ctl(&["auth", "enable"]);
    let refused = anonymous.get("k").await.unwrap_err();
    assert!(matches!(refused, RegistryError::Refused(_)), "{refused}");
    let url = format!("etcd://127.0.0.1:{}/test", etcd.port);
    let user = |password: &'static str| {
        let config = EtcdConfig::parse(&url, move |name| match name {
            "PARTITA_ETCD_USER" => Some("root".to_owned()),
            "PARTITA_ETCD_PASSWORD" => Some(password.to_owned()),
            _ => None,
        });
        EtcdRegistry::new(config.unwrap()).unwrap()
    };
    let folder = tempfile::tempdir().unwrap();
    let registry = Arc::new(user("secret"));
    let a = join(registry.clone(), "a", folder.path()).await;
    let routes = Routes::follow(registry, &Tasks::new());
    when(&routes, |table| table.is_alive("a", a.owner().life)).await;
    assert!(a.gate().confirm(crate::members::LONG).await);
    let wrong = user("wrong").get("k").await.unwrap_err();
    assert!(matches!(wrong, RegistryError::Refused(_)), "{wrong}");
}

/// One of three members dies, whichever it is, and the members of the cluster go on.
#[tokio::test]
async fn another_member_answers_when_one_dies() {
    let mut etcds = Etcd::start_three(&[]);
    let ports = etcds
        .each_ref()
        .map(|etcd| format!("127.0.0.1:{}", etcd.port));
    let registry = Arc::new(registry(&format!("etcd://{}/test", ports.join(","))).await);
    assert!(
        registry.ends_live_leases().await.unwrap(),
        "Debian's etcd has the fault"
    );
    let folder = tempfile::tempdir().unwrap();
    let a = join(registry.clone(), "a", folder.path()).await;
    let routes = Routes::follow(registry.clone(), &Tasks::new());
    when(&routes, |table| table.is_alive("a", a.owner().life)).await;
    // The one that the registry is connected to.
    etcds[0].kill();
    answers(&registry).await;
    let term = elected(&a).await;
    when_elected(&routes, &term).await;
}

/// The leader of three members dies. The others elect another one, which starts all leases again in full: no life ends.
#[tokio::test]
async fn lives_survive_the_leader_of_etcd() {
    let mut etcds = Etcd::start_three(&[]);
    let ports = etcds
        .each_ref()
        .map(|etcd| format!("127.0.0.1:{}", etcd.port));
    let registry = Arc::new(registry(&format!("etcd://{}/test", ports.join(","))).await);
    let folder = tempfile::tempdir().unwrap();
    let a = join(registry.clone(), "a", folder.path()).await;
    let routes = Routes::follow(registry.clone(), &Tasks::new());
    let term = elected(&a).await;
    let tenure = served(&term, &a).await;
    let leader = etcds.iter().position(is_leader).expect("there is a leader");
    etcds[leader].kill();
    answers(&registry).await;
    have_survived(&a, &term, &tenure, &routes).await;
}

fn is_leader(etcd: &Etcd) -> bool {
    let status = etcd.ctl(&["endpoint", "status", "--write-out=json"]);
    let status: serde_json::Value = serde_json::from_str(&status).unwrap();
    let status = &status[0]["Status"];
    status["leader"] == status["header"]["member_id"]
}
