//! Snapshots of ranges of three servers, and a backup that becomes a new cluster, with the commands of the documents.

use super::members::Cluster;
use super::process::{command_on, read, run};
use super::{Trial, does, until_done};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Inserts a row into the range of each server, one after the other, under one number: the next is sent when the one
/// before it was acknowledged. Returns the number of complete rounds.
fn write(connection: &str, name: &str, stop: &AtomicBool) -> u32 {
    let mut number = 0;
    while !stop.load(Ordering::Relaxed) {
        for range in ["a", "k", "z"] {
            until_done(
                connection,
                &format!("entity upsert people {range} {name}-{number}"),
            );
        }
        number += 1;
    }
    number
}

/// The rows of a table: first letter of the range, and number.
fn rows(connection: &str, table: &str) -> BTreeSet<(String, String)> {
    let output = command_on(connection, &format!("export {table} -")).output();
    let (code, data, talk) = read(output.unwrap());
    assert_eq!(code, 0, "{talk}");
    let row = |line: &str| {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        let text = |name: &str| row[name].as_str().unwrap().to_owned();
        (text("PartitionKey"), text("RowKey"))
    };
    data.lines().map(row).collect()
}

/// Fails unless each row was written after those of the ranges before, and the rows written before the snapshot are
/// there.
fn check_one_instant(rows: &BTreeSet<(String, String)>) {
    for (before, after) in [("a", "k"), ("k", "z")] {
        let lacking = rows.iter().filter(|(range, number)| {
            range == after && !rows.contains(&(before.to_owned(), number.clone()))
        });
        let lacking: Vec<_> = lacking.collect();
        assert!(lacking.is_empty(), "{lacking:?} without {before}");
    }
    for range in ["a", "k", "z"] {
        assert!(
            rows.contains(&(range.to_owned(), "first".to_owned())),
            "{range}"
        );
    }
}

/// The commands that a document shows under a heading, without comments.
pub(super) fn commands_of(document: &str, heading: &str) -> Vec<String> {
    let (_, section) = document.split_once(heading).unwrap();
    let (_, block) = section.split_once("```sh\n").unwrap();
    let (block, _) = block.split_once("```").unwrap();
    let lines = block.replace("\\\n", " ");
    let lines = lines
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default());
    let lines = lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    lines.filter(|line| !line.is_empty()).collect()
}

#[test]
fn a_backup_of_a_cluster_becomes_a_new_cluster() {
    let trial = Trial::start();
    until_done(&trial.connections[0], "table create people");
    trial.split();
    trial.spread();
    for range in ["a", "k", "z"] {
        until_done(
            &trial.connections[1],
            &format!("entity upsert people {range} first"),
        );
    }
    until_done(&trial.connections[1], "queue create jobs");
    until_done(&trial.connections[2], "queue put jobs hello");

    let stop = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..2)
        .map(|writer| {
            let (connection, stop) = (trial.connections[writer].clone(), Arc::clone(&stop));
            thread::spawn(move || write(&connection, &format!("w{writer}"), &stop))
        })
        .collect();
    // By each server: the manager is one of them.
    for server in 0..3 {
        let name = format!("s{server}");
        let created = trial.until_acted(server, &["snapshot", "create", &name]);
        eprintln!("snapshot {name}: writes waited {} ms", created["pause_ms"]);
    }
    stop.store(true, Ordering::Relaxed);
    for writer in writers {
        assert!(writer.join().unwrap() > 0);
    }
    let snapshots = trial.until_acted(1, &["snapshot", "list"]);
    assert_eq!(snapshots["snapshots"].as_array().unwrap().len(), 3);

    // A table of the snapshot next to that of today.
    for (server, name) in ["s0", "s1", "s2"].iter().enumerate() {
        let (into, front) = (format!("then{name}"), (server + 1) % 3);
        let restore = [
            "snapshot", "restore", name, "--table", "people", "--as", &into,
        ];
        trial.until_acted(front, &restore);
        check_one_instant(&rows(&trial.connections[server], &into));
    }

    let cluster = restore(&trial, "s1");
    until_done(&cluster.connections[0], "entity upsert people m after");
    let mut found = rows(&cluster.connections[1], "people");
    assert!(found.remove(&("m".to_owned(), "after".to_owned())));
    assert_eq!(found, rows(&trial.connections[1], "thens1"));
    assert!(does(&cluster.connections[2], "queue get jobs"));
    let ranges = cluster.until(0, &["ranges"], |_| true);
    assert_eq!(ranges["ranges"].as_array().unwrap().len(), 3);

    for name in ["s0", "s1", "s2"] {
        trial.until_acted(2, &["snapshot", "delete", name, "--yes"]);
    }
    // A list without lines has an exit code of its own.
    let (_, _, talk) = run(&["snapshot", "list", "--admin", &trial.admin(0)]);
    assert!(talk.contains("0 snapshots"), "{talk}");
}

/// Types what the documents say: copies a snapshot, restores it into the store of a new cluster, and starts the servers of
/// this.
fn restore(trial: &Trial, snapshot: &str) -> Cluster {
    let document = include_str!("../../../../docs/snapshots.md");
    let commands = commands_of(document, "## Backups of a cluster\n");
    let mut new = Cluster::new();
    let out = trial.folder.path().join("out");
    let replaced = [
        ("s3://acme-backups/tables", out.to_str().unwrap().to_owned()),
        ("s3://acme-tables/new", new.store.clone()),
        ("2026-11-21", snapshot.to_owned()),
    ];
    let mut typed = Vec::new();
    for command in commands {
        let command = replaced
            .iter()
            .fold(command, |line, (from, to)| line.replace(from, to));
        let words: Vec<&str> = command.split(' ').skip(1).collect();
        match words[..] {
            // The servers of `cluster try` have their places and snapshots already.
            ["serve", "--store", "s3://acme-tables/prod", ..] | ["snapshot", "create", ..] => {
                continue;
            }
            ["serve", ..] => (0..3).for_each(|server| new.begin_typed(server, &command, &[])),
            ["backup", "verify", ..] | ["restore", ..] => {
                let (code, _, talk) = run(&words);
                assert_eq!(code, 0, "{command}: {talk}");
            }
            ["backup", ..] => {
                trial.until_acted(2, &words);
            }
            _ => panic!("{command} is not expected"),
        }
        typed.push(words[0].to_owned());
    }
    assert_eq!(typed, ["backup", "backup", "restore", "serve"]);
    new
}
