//! What any server of a cluster says about all of them, also when one does not answer; and clients that go to the server
//! with the data.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::process::{command_on, read};
use super::{Trial, signal, until_done};

/// The text of the metrics page of a server, counted from 0.
fn metrics(trial: &Trial, server: usize) -> String {
    let address = trial.admin(server).replace("http://", "");
    let Ok(mut stream) = TcpStream::connect(&address) else {
        return String::new();
    };
    let request = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let mut answer = String::new();
    if stream.write_all(request.as_bytes()).is_err() || stream.read_to_string(&mut answer).is_err()
    {
        return String::new();
    }
    answer
}

/// The sum of the samples of a metric whose names and labels begin with `sample`.
fn sum(page: &str, sample: &str) -> f64 {
    let samples = page.lines().filter(|line| line.starts_with(sample));
    let values = samples.map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap());
    values.sum()
}

/// Requests that a server has passed on.
fn forwarded(trial: &Trial, server: usize) -> f64 {
    let page = metrics(trial, server);
    sum(&page, "partita_forwarded_total{outcome=\"answered\"}")
}

/// Rows, each in a partition of its own, in all three ranges.
fn rows(count: usize) -> String {
    let mut lines = String::new();
    for number in 0..count {
        let first = ["a", "k", "z"][number % 3];
        let _ = writeln!(
            lines,
            r#"{{"PartitionKey":"{first}-{number}","RowKey":"r","Number":{number}}}"#
        );
    }
    lines
}

/// Starts to import rows through a server.
fn import(trial: &Trial, server: usize, count: usize) -> std::process::Child {
    let path = trial.folder.path().join(format!("rows-{count}.jsonl"));
    std::fs::write(&path, rows(count)).unwrap();
    let line = format!("import {} people --mode replace --yes", path.display());
    let mut command = command_on(&trial.connections[server], &line);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

fn succeeds(import: std::process::Child) {
    let (code, _, talk) = read(import.wait_with_output().unwrap());
    assert_eq!(code, 0, "{talk}");
}

/// Two of three rows are at other servers than the given one. Only the first requests go through it; when a server is
/// killed, its requests do, and the import sees no error.
#[test]
fn commands_go_to_the_server_with_the_data() {
    let trial = Trial::start();
    until_done(&trial.connections[0], "table create people");
    trial.split();
    trial.spread();
    let before = forwarded(&trial, 0);
    succeeds(import(&trial, 0, 900));
    let passed_on = forwarded(&trial, 0) - before;
    eprintln!("of 900 rows, {passed_on} requests went through another server");
    assert!((1.0..200.0).contains(&passed_on), "{passed_on}");

    let export = command_on(&trial.connections[0], "export people -").output();
    let (code, data, talk) = read(export.unwrap());
    assert_eq!((code, data.lines().count()), (0, 900), "{talk}");

    let answered = |page: String| sum(&page, "partita_requests_total");
    let process = trial.process_of(2).expect("the server runs");
    let begun = answered(metrics(&trial, 2));
    let importing = import(&trial, 0, 9_000);
    let patience = Instant::now();
    while answered(metrics(&trial, 2)) < begun + 200.0 {
        assert!(patience.elapsed() < Duration::from_secs(60), "not direct");
    }
    signal(&process, "-KILL");
    succeeds(importing);
    let export = command_on(&trial.connections[1], "export people -").output();
    let (code, data, talk) = read(export.unwrap());
    assert_eq!((code, data.lines().count()), (0, 9_000), "{talk}");
}

/// Waits until the heat map of a server has partitions with each of these prefixes.
fn until_heat_of(trial: &Trial, server: usize, keys: &[&str]) -> serde_json::Value {
    let began = Instant::now();
    loop {
        // Each server has up to 32 partitions in its history, all with the same load here.
        let arguments = [
            "heat",
            "--partitions",
            "--metric",
            "writes",
            "--rows",
            "100",
        ];
        let heat = trial.until_acted(server, &arguments);
        let rows = heat["rows"].as_array().unwrap().clone();
        let has = |key: &&str| {
            rows.iter().any(|row| {
                let of = row["partition"]["partition_key"].as_str();
                of.is_some_and(|of| of.starts_with(*key))
            })
        };
        if keys.iter().all(has) {
            return heat;
        }
        assert!(began.elapsed() < Duration::from_secs(90), "{heat}");
    }
}

/// Any server shows the heat, the health and the snapshots of all. One that stands still is named.
#[test]
fn every_server_answers_for_all_and_says_who_did_not() {
    let trial = Trial::start_with_lease("60s");
    until_done(&trial.connections[0], "table create people");
    trial.split();
    trial.spread();
    trial.until_acted(0, &["snapshot", "create", "first"]);
    let keys = ["a-", "k-", "z-"];
    succeeds(import(&trial, 1, 900));
    for server in 0..3 {
        let heat = until_heat_of(&trial, server, &keys);
        assert_eq!(heat["silent"], serde_json::Value::Null);
    }
    let status = trial.until_acted(1, &["status"]);
    let cluster = &status["status"]["cluster"];
    assert_eq!(cluster["silent"], serde_json::Value::Null);
    for server in cluster["servers"].as_array().unwrap() {
        let health = &server["health"];
        assert_eq!(health["state"], "ready", "{server}");
        assert!(
            health["lease_left_seconds"].as_f64().unwrap() > 0.0,
            "{server}"
        );
        assert!(health["log_put_us"]["p99"].as_u64().is_some(), "{server}");
    }
    for server in 0..3 {
        let page = metrics(&trial, server);
        assert!(sum(&page, "partita_lease_seconds_left") > 0.0, "{page}");
        assert_eq!(sum(&page, "partita_unowned_ranges"), 0.0);
        let taken_over = r#"partita_takeover_seconds_count{step="open"}"#;
        assert!(sum(&page, taken_over) > 0.0, "{page}");
    }

    // A server stands still that is not the manager, and does not have the names of the tables, as the first one has. Its
    // lease is valid for a minute, so it is asked.
    let manager = cluster["manager"].as_str().unwrap().to_owned();
    let mut others = (1..3).filter(|server| format!("server-{}", server + 1) != manager);
    let stopped = others.next().unwrap();
    let name = format!("server-{}", stopped + 1);
    let asked = (stopped + 1) % 3;
    let process = trial.process_of(stopped).expect("the server runs");
    signal(&process, "-STOP");
    let commands: [&[&str]; 4] = [&["heat"], &["ranges"], &["snapshot", "list"], &["status"]];
    let answers = commands.map(|command| trial.until_acted(asked, command));
    signal(&process, "-CONT");
    let named = serde_json::json!([name]);
    let [heat, ranges, snapshots, status] = &answers;
    for answer in [heat, ranges, snapshots, &status["status"]["cluster"]] {
        assert_eq!(answer["silent"], named, "{answer}");
    }
    assert_eq!(snapshots["snapshots"][0]["name"], "first");

    // The server with the names of the tables stands still: the others show those that they read last.
    let process = trial.process_of(0).expect("the server runs");
    signal(&process, "-STOP");
    let commands: [&[&str]; 3] = [&["heat"], &["ranges"], &["hot"]];
    let answers = commands.map(|command| trial.until_acted(stopped, command));
    signal(&process, "-CONT");
    for answer in &answers {
        assert_eq!(
            answer["silent"],
            serde_json::json!(["server-1"]),
            "{answer}"
        );
        assert!(answer["names_unread"].is_string(), "{answer}");
    }
    let mut ranges = answers[1]["ranges"].as_array().unwrap().iter();
    assert!(ranges.any(|range| range["start"]["table"] == "people"));
}
