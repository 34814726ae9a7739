//! Runs the program: two runs of a seed are the same, and a planted fault is found.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::path::Path;
use std::process::{Command, Output};

/// Enough operations for splits and merges, and few enough for a build without optimisation.
const OPERATIONS: &str = "2000";

fn simulate(seed: &str, more: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_partita-sim"))
        .args(["--seed", seed, "--operations", OPERATIONS])
        .args(more)
        .output()
        .unwrap()
}

/// The output line and the trace of a run without faults.
fn traced(seed: &str, path: &Path) -> (String, Vec<u8>) {
    let ran = simulate(seed, &["--trace", path.to_str().unwrap()]);
    let error = String::from_utf8(ran.stderr).unwrap();
    assert!(ran.status.success(), "{error}");
    (
        String::from_utf8(ran.stdout).unwrap(),
        std::fs::read(path).unwrap(),
    )
}

#[test]
fn a_seed_gives_the_same_trace_twice_and_another_seed_another() {
    let directory = tempfile::tempdir().unwrap();
    let run = |seed, name| traced(seed, &directory.path().join(name));
    let (first, again, other) = (run("2", "a"), run("2", "b"), run("6", "c"));
    assert!(!first.0.contains(" 0 splits"), "{}", first.0);
    assert!(
        first == again,
        "two runs of a seed give the same line and trace"
    );
    assert!(first.1 != other.1, "two seeds give different traces");
}

#[test]
fn a_seed_of_a_cluster_gives_the_same_trace_twice() {
    let directory = tempfile::tempdir().unwrap();
    let run = |name| {
        let path = directory.path().join(name);
        let more = ["--servers", "3", "--trace", path.to_str().unwrap()];
        let ran = simulate("3", &more);
        let error = String::from_utf8(ran.stderr).unwrap();
        assert!(ran.status.success(), "{error}");
        let line = String::from_utf8(ran.stdout).unwrap();
        (line, std::fs::read(path).unwrap())
    };
    let (first, again) = (run("a"), run("b"));
    assert!(!first.0.contains("; 0 faults"), "{}", first.0);
    assert!(first == again, "two runs give the same line and trace");
}

#[test]
fn a_lost_write_and_a_lost_message_are_found() {
    for plant in ["lost-write", "lost-message"] {
        let ran = simulate("5", &["--plant", plant]);
        let error = String::from_utf8(ran.stderr).unwrap();
        assert!(!ran.status.success(), "the simulation finds the {plant}");
        assert!(error.contains("seed 5 failed"), "{error}");
    }
}
