//! An operator who has lost a server or etcd types what `docs/cluster.md` says.

use std::collections::BTreeSet;
use std::time::Instant;

use super::members::{Cluster, PATIENCE, Variables, name};
use super::snapshots::commands_of;
use super::{until_done, until_rows};

/// The commands under a heading of the document, in order.
fn commands<const N: usize>(heading: &str) -> [String; N] {
    let document = include_str!("../../../../docs/cluster.md");
    commands_of(document, heading).try_into().unwrap()
}

/// The lives of all members.
fn lives(seen: &serde_json::Value) -> BTreeSet<String> {
    let servers = seen["servers"].as_array().into_iter().flatten();
    servers
        .map(|server| server["life"].as_str().unwrap().to_owned())
        .collect()
}

/// A cluster with a row in each of three ranges.
fn cluster(variables: Variables<'_>) -> Cluster {
    let cluster = Cluster::start(variables);
    until_done(&cluster.connections[0], "table create people");
    cluster.split();
    for row in ["a", "k", "z"] {
        let insert = format!("entity insert people {row} r");
        until_done(&cluster.connections[1], &insert);
    }
    cluster
}

impl Cluster {
    /// Each server shows the rows.
    fn has_rows(&self, rows: &[&str]) {
        for connection in &self.connections {
            let mut found = until_rows(connection);
            found.sort();
            assert_eq!(found, rows);
        }
    }
}

/// A server that is not the manager stands still. Its lease is so long that it is still a member when it is expelled.
#[test]
fn a_lost_server_is_replaced_with_the_documented_commands() {
    let lease = &[("PARTITA_LEASE", "15s")];
    let mut cluster = cluster(lease);
    let [look, expel, start, look_again] = commands("**A server is lost.**");
    let seen = cluster.until(0, &["servers"], |seen| seen["manager"].is_string());
    let is_manager = |server: &usize| seen["manager"] == *name(*server);
    let manager = (0..3).find(is_manager).unwrap();
    let lost = (manager + 1) % 3;
    cluster.servers[lost].as_ref().unwrap().signal("-STOP");
    assert_eq!(look, "partita servers");
    cluster.until(manager, &["servers"], |seen| {
        let mut servers = seen["servers"].as_array().unwrap().iter();
        let hanging = servers.find(|server| server["name"] == *name(lost));
        hanging.is_some_and(|server| server["health"].is_null())
    });
    let expel = expel.replace("server-2", &name(lost));
    let words: Vec<&str> = expel.split(' ').skip(1).collect();
    let (code, _, talk) = cluster.ask((lost + 1) % 3, &words);
    assert_eq!(code, 0, "{talk}");
    for row in ["b", "l", "zz"] {
        let insert = format!("entity insert people {row} r");
        until_done(&cluster.connections[manager], &insert);
    }

    // The machine is gone, with what the server had on its disk.
    drop(cluster.servers[lost].take());
    std::fs::remove_dir_all(cluster.state_dir(lost)).unwrap();
    cluster.begin_typed(lost, &start, lease);
    cluster.until_whole(lost, &look_again);
    cluster.has_rows(&["a", "b", "k", "l", "z", "zz"]);
}

#[test]
fn an_etcd_without_data_is_started_with_the_documented_commands() {
    let mut cluster = cluster(&[]);
    let [start_etcd, start, look] = commands("**etcd is lost.**");
    let before = lives(&cluster.until(0, &["servers"], |_| true));
    assert_eq!(before.len(), 3);
    cluster.etcd.lose();
    cluster.etcd.begin_typed(&start_etcd);
    let began = Instant::now();
    loop {
        for server in 0..3 {
            if cluster.servers[server].as_mut().unwrap().has_ended() {
                cluster.begin_typed(server, &start, &[]);
            }
        }
        let words: Vec<&str> = look.split(' ').skip(1).collect();
        let (_, data, _) = cluster.ask(0, &words);
        let seen: serde_json::Value = serde_json::from_str(&data).unwrap_or_default();
        let now = lives(&seen);
        if now.len() == 3 && now.is_disjoint(&before) && seen["unserved"] == 0 {
            break;
        }
        assert!(began.elapsed() < PATIENCE, "{data}");
    }
    for row in ["b", "l", "zz"] {
        let insert = format!("entity insert people {row} r");
        until_done(&cluster.connections[2], &insert);
    }
    cluster.has_rows(&["a", "b", "k", "l", "z", "zz"]);
}
