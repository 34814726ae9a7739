//! A cluster starts with the commands of the documents.

use super::members::Cluster;
use super::process::run;
use super::snapshots::commands_of;
use super::{until_done, until_rows};

/// The heading of the commands in both documents.
const HEADING: &str = "On several machines:\n";

/// Types the three commands: etcd, the key, and a server three times.
fn start(document: &str) {
    let [etcd, key, serve] = commands_of(document, HEADING).try_into().unwrap();
    let mut cluster = Cluster::new();
    cluster.etcd.lose();
    cluster.etcd.begin_typed(&etcd);
    let path = cluster.folder.path().join("cluster.key");
    std::fs::remove_file(&path).unwrap();
    let key = key.replace("cluster.key", path.to_str().unwrap());
    let (code, _, talk) = run(&key.split(' ').skip(1).collect::<Vec<_>>());
    assert_eq!(code, 0, "{talk}");
    // On this machine only, the well-known account is allowed.
    let serve = serve.replace("PARTITA_ACCOUNTS=\"name:key\" ", "");
    for server in 0..3 {
        cluster.begin_typed(server, &serve, &[]);
    }
    cluster.until_whole(0, "partita servers");
    until_done(&cluster.connections[0], "table create people");
    until_done(&cluster.connections[1], "entity insert people a r");
    assert_eq!(until_rows(&cluster.connections[2]), ["a"]);
}

#[test]
fn a_cluster_starts_with_the_commands_of_the_readme() {
    start(include_str!("../../../../README.md"));
}

#[test]
fn a_cluster_starts_with_the_commands_of_its_document() {
    start(include_str!("../../../../docs/cluster.md"));
}
