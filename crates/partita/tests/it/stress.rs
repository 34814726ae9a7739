//! Tests of `partita stress`: the table of a run, its report files, and how a run ends.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::process::{Server, read};
use crate::tools::{World, signal};

const QUICK: &str = "--rows 200 --row-bytes 50 --operations 300 --workers 4";

fn report(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn is_there(world: &World, table: &str) -> bool {
    world.run(&format!("table show {table}")).0 == 0
}

#[test]
fn a_created_table_is_deleted_and_an_existing_one_stays() {
    let world = World::new();
    let (code, data, talk) = world.run(&format!("stress trial {QUICK}"));
    assert_eq!(code, 0, "{talk}");
    let printed: Value = serde_json::from_str(&data).unwrap();
    assert_eq!(printed["all"]["done"], 300);
    assert!(
        talk.contains("200 rows loaded in ") && talk.contains("\n300 operations, "),
        "{talk}"
    );
    assert!(!is_there(&world, "trial"));

    let (code, _, talk) = world.run(&format!("stress trial {QUICK} --keep"));
    assert!(code == 0 && talk.contains("table trial is kept"), "{talk}");
    let rows = world.run("count trial").1;
    let (code, _, talk) = world.run(&format!("stress trial {QUICK}"));
    assert_eq!(code, 2);
    assert!(
        talk.contains("table trial exists already: add --use-existing"),
        "{talk}"
    );
    assert_eq!(world.run("count trial").1, rows);

    let (code, _, talk) = world.run(&format!("stress trial {QUICK} --use-existing"));
    assert_eq!(code, 0, "{talk}");
    let (_, purge) = talk.split_once("partita purge trial ").unwrap();
    let filter = purge.split('"').nth(1).unwrap();
    assert_ne!(world.run("count trial").1, rows);
    // The suggested command deletes the rows of the run, and no others.
    let purged = read(
        world
            .command("purge trial --yes")
            .arg(filter)
            .output()
            .unwrap(),
    );
    assert_eq!(purged.0, 0, "{}", purged.2);
    assert_eq!(world.run("count trial").1, rows);
}

/// A run through a gate, stopped while the gate holds back a request.
fn stopped(world: &World, may_pass: usize, line: &str) -> (i32, String, String) {
    let gate = world.gate(may_pass);
    let mut command: Command = world.command(line);
    command.env("AZURE_STORAGE_CONNECTION_STRING", world.through(&gate));
    let child = world.start(&mut command);
    gate.wait();
    signal(&child, "-INT");
    gate.open();
    read(child.wait_with_output().unwrap())
}

#[test]
fn a_stopped_run_writes_a_report_and_deletes_its_table() {
    let world = World::new();
    let (code, data, talk) = stopped(
        &world,
        30,
        "stress trial --rows 0 --mix insert --workers 1 --duration 1h",
    );
    assert_eq!(code, 0, "{talk}");
    let printed: Value = serde_json::from_str(&data).unwrap();
    assert_eq!(printed["is_interrupted"], true);
    assert!(printed["all"]["done"].as_u64().unwrap() >= 29, "{data}");
    assert!(
        talk.contains("the run was interrupted before its end"),
        "{talk}"
    );
    assert!(!is_there(&world, "trial"));
    // A run that is stopped while it loads has nothing to report.
    let (code, data, talk) = stopped(&world, 3, "stress trial --rows 100000 --pattern single");
    assert_eq!((code, &*data), (2, ""), "{talk}");
    assert!(talk.ends_with("error: interrupted\n"), "{talk}");
    assert!(!is_there(&world, "trial"));
}

#[test]
fn reports_are_files_to_compare() {
    let world = World::new();
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    let (one, two, html) = (at("one.json"), at("two.json"), at("one.html"));
    let line = format!(
        "stress trial {QUICK} --report {} --html {}",
        one.display(),
        html.display()
    );
    assert_eq!(world.run(&line).0, 0);
    // Existing files are not overwritten without confirmation.
    let (code, _, talk) = world.run(&line);
    assert!(code == 2 && talk.contains("add --yes"), "{talk}");
    assert_eq!(world.run(&format!("{line} --yes")).0, 0);
    let (code, page, _) = world.run(&format!("stress page {}", one.display()));
    assert_eq!((code, page), (0, std::fs::read_to_string(&html).unwrap()));

    let compare = |a: &Path, b: &Path, flags: &str| {
        world.run(&format!(
            "stress compare {} {} {flags}",
            a.display(),
            b.display()
        ))
    };
    let (code, data, talk) = compare(&one, &one, "--tolerance 0 --output csv");
    assert_eq!(code, 0, "{talk}");
    assert!(
        data.starts_with("operation,figure,a,b,ratio,judgement\nget,per-second,"),
        "{data}"
    );
    let mut slower = report(&one);
    slower["all"]["per_second"] = Value::from(slower["all"]["per_second"].as_f64().unwrap() * 0.7);
    std::fs::write(&two, slower.to_string()).unwrap();
    let (code, _, talk) = compare(&one, &two, "");
    assert_eq!(
        (code, &*talk),
        (
            1,
            "1 number worse by more than 10 %, 0 better, 15 the same\n"
        )
    );
    assert_eq!(compare(&one, &two, "--tolerance 50").0, 0);
    assert_eq!(compare(&two, &one, "").0, 0);

    slower["settings"]["workers"] = Value::from(5);
    std::fs::write(&two, slower.to_string()).unwrap();
    let (code, _, talk) = compare(&one, &two, "");
    assert!(
        code == 2 && talk.contains("had different settings (workers: 4 and 5): add --anyway"),
        "{talk}"
    );
    assert_eq!(compare(&one, &two, "--anyway --tolerance 50").0, 0);
    for (change, expected) in [
        (
            "{\"kind\":\"partita-stress\",\"version\":2}",
            "unsupported report version 2: this program reads version 1",
        ),
        (
            "{\"kind\":\"partita-stress\",\"version\":1}",
            "the report is damaged",
        ),
        (
            "{\"kind\":\"partita-export\",\"version\":1}",
            "not a report of partita stress",
        ),
        ("nothing", "not a report of partita stress"),
    ] {
        std::fs::write(&two, change).unwrap();
        let (code, _, talk) = compare(&one, &two, "");
        assert!(code == 2 && talk.contains(expected), "{talk}");
    }
}

#[test]
fn a_server_with_targets_shows_what_the_cloud_would_refuse() {
    let mut server = Server::start(&["--in-memory", "--target-partition-entities", "100"]);
    let connection = server.line();
    let world = World::new();
    let mut command = world.command("stress trial --pattern single --rows 0 --mix batch --operations 6 --retries 0 --target-partition 100 --output table");
    let (code, data, talk) = read(
        command
            .env("AZURE_STORAGE_CONNECTION_STRING", connection)
            .output()
            .unwrap(),
    );
    assert_eq!(code, 1, "{data}{talk}");
    assert!(data.starts_with("Throttled: the server refused "), "{data}");
    for words in [
        "partition-target",
        "- PartitionKey \"single\" exceeds the target of a partition",
        "attempts used up",
    ] {
        assert!(data.contains(words), "{data}");
    }
}

#[test]
fn keys_come_from_lists_and_tables() {
    let world = World::new();
    world.fill("people", &[("O'Brien", 30), ("Sisko", 10)]);
    let (code, data, talk) = world.run(&format!(
        "stress trial {QUICK} --rate 300 --keys-from people --mix insert"
    ));
    // The rate keeps the verdict within the targets on a machine of any speed.
    assert_eq!(code, 0, "{talk}");
    let printed: Value = serde_json::from_str(&data).unwrap();
    assert_eq!(printed["partitions_seen"], 2);
    assert_eq!(printed["settings"]["pattern"]["keys"], 40);
    let busiest = &printed["partitions"][0];
    assert_eq!(busiest["partition_key"], "O'Brien");
    let share = busiest["share"].as_f64().unwrap();
    assert!((0.65..0.85).contains(&share), "{share}");

    let home = tempfile::tempdir().unwrap();
    let list = home.path().join("keys");
    std::fs::write(&list, "").unwrap();
    let (code, _, talk) = world.run(&format!("stress trial {QUICK} --keys {}", list.display()));
    assert!(code == 2 && talk.contains(" has no keys"), "{talk}");
    let (code, _, talk) = world.run(&format!(
        "stress trial {QUICK} --pattern uniform --partitions 3 --aim nowhere"
    ));
    assert!(
        code == 2 && talk.contains("--aim: partition \"nowhere\" has no rows; \"p"),
        "{talk}"
    );
    assert!(!is_there(&world, "trial"));
}
