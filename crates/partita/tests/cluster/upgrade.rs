//! A rolling upgrade: the servers are replaced by those of a program that supports the next cluster version, one after the
//! other, while rows are written. The program is the same; it pretends to support other versions.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use super::members::{Cluster, Variables};
use super::process::{command_on, read};
use super::{until_done, until_rows};

/// The variable by which a program with debug assertions pretends to support other versions.
const PRETENDED: &str = "TEST_PARTITA_CLUSTER_VERSIONS";

/// The programs of three releases, by the versions that they support.
const OLD: Variables<'_> = &[(PRETENDED, "1-1")];
const NEW: Variables<'_> = &[(PRETENDED, "1-2")];
const NEWER: Variables<'_> = &[(PRETENDED, "2-3")];

impl Cluster {
    /// Stops a server, and starts another program in its place.
    fn replace(&mut self, server: usize, program: Variables<'_>) {
        self.stop(server);
        self.begin(server, program);
        // It is a member, and has the map.
        until_done(&self.connections[server], "entity get people a first");
    }

    /// Why the next version is not finalized.
    fn not_finalized(&self, server: usize) -> String {
        let (code, data, talk) = self.ask(server, &["admin", "finalize"]);
        assert_eq!(code, 2, "{data}");
        talk
    }

    /// Writes rows through the servers other than `without` while `change` runs. No write may fail.
    fn while_writing(&mut self, without: usize, change: impl FnOnce(&mut Self)) -> Vec<String> {
        let stop = Arc::new(AtomicBool::new(false));
        let began = Instant::now();
        let writers: Vec<_> = (0..3)
            .filter(|server| *server != without)
            .map(|server| {
                let (connection, stop) = (self.connections[server].clone(), Arc::clone(&stop));
                let name = format!("{server}-{}", began.elapsed().as_nanos());
                thread::spawn(move || write(&connection, &name, &stop))
            })
            .collect();
        change(self);
        stop.store(true, Ordering::Relaxed);
        let written = writers.into_iter().map(|writer| writer.join().unwrap());
        let written: Vec<String> = written.flatten().collect();
        eprintln!("{} rows in {:?}", written.len(), began.elapsed());
        written
    }
}

/// Writes rows of three ranges until it is told to stop and each range has one more. Every write succeeds.
fn write(connection: &str, name: &str, stop: &AtomicBool) -> Vec<String> {
    let mut written = Vec::new();
    while !stop.load(Ordering::Relaxed) || written.len() % 3 != 0 || written.is_empty() {
        let first = ["a", "k", "z"][written.len() % 3];
        let row = format!("{first}-{name}-{}", written.len());
        // Can be repeated: the client does so when it does not know the outcome.
        let line = format!("entity upsert people {row} r");
        let (code, _, talk) = read(command_on(connection, &line).output().unwrap());
        assert_eq!(code, 0, "{line}: {talk}");
        written.push(row);
    }
    written
}

#[test]
fn a_cluster_is_upgraded_without_an_error() {
    let mut cluster = Cluster::start(OLD);
    until_done(&cluster.connections[0], "table create people");
    until_done(&cluster.connections[0], "entity insert people a first");
    cluster.split();
    let has_version = |version: u32, next: Option<u32>| {
        move |cluster: &serde_json::Value| {
            let is_next = cluster["finalizable"].as_u64() == next.map(u64::from);
            cluster["active_version"] == version && is_next
        }
    };
    cluster.until(2, &["servers"], has_version(1, None));
    let why = cluster.not_finalized(1);
    assert!(why.contains("there is nothing to finalize"), "{why}");

    // A program that is two steps ahead is refused.
    let mut written = cluster.while_writing(2, |cluster| {
        cluster.stop(2);
        let why = cluster.refused(2, NEWER);
        assert!(why.contains("supports cluster versions 2 to 3"), "{why}");
        assert!(why.contains("cluster has version 1"), "{why}");
        assert!(why.contains("`partita admin finalize`"), "{why}");
        cluster.begin(2, NEW);
    });
    let why = cluster.not_finalized(0);
    assert!(
        why.contains("server-1 (partita") && why.contains("server-2 (partita"),
        "{why}"
    );
    assert!(!why.contains("server-3"), "{why}");

    // Back, and forth again.
    for (server, program) in [(2, OLD), (0, NEW), (1, NEW), (1, OLD), (1, NEW), (2, NEW)] {
        let rows = cluster.while_writing(server, |cluster| cluster.replace(server, program));
        written.extend(rows);
    }
    for server in 0..3 {
        cluster.until(server, &["servers"], has_version(1, Some(2)));
    }

    let rows = cluster.while_writing(1, |cluster| {
        let (code, data, talk) = cluster.ask(1, &["admin", "finalize"]);
        assert_eq!(code, 0, "{talk}");
        let answer: serde_json::Value = serde_json::from_str(&data).unwrap();
        assert_eq!(answer["active_version"], 2);
        for server in 0..3 {
            cluster.until(server, &["servers"], has_version(2, None));
        }
        cluster.stop(1);
        let why = cluster.refused(1, OLD);
        assert!(why.contains("supports cluster version 1, but"), "{why}");
        assert!(why.contains("cluster has version 2"), "{why}");
        // The next upgrade.
        cluster.begin(1, NEWER);
    });
    written.extend(rows);
    let why = cluster.not_finalized(2);
    assert!(
        why.contains("server-1 (partita") && !why.contains("server-2"),
        "{why}"
    );

    for server in 0..3 {
        let found = until_rows(&cluster.connections[server]);
        let lost: Vec<_> = written.iter().filter(|row| !found.contains(row)).collect();
        assert!(lost.is_empty(), "{lost:?}");
    }
}
