//! Tests of completions: the names that the program finds on a real server, and real shells that ask it.

use crate::process::{command, read};
use crate::tools::World;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// How long the program waits for names, instead of 300ms: tests run on busy machines.
const WAIT: &str = "30s";

/// A server with tables and queues.
fn world() -> World {
    let world = World::new();
    world.fill("people", &[("a", 1)]);
    assert_eq!(world.run("table create pets orders").0, 0);
    assert_eq!(world.run("queue create jobs mail").0, 0);
    world
}

/// The candidates for the last word of a line in fish, without descriptions. The line has no quotes.
fn candidates(command: &mut Command, line: &str) -> Vec<String> {
    command.args(["--", "partita"]);
    command
        .args(line.split(' '))
        .env("PARTITA_COMPLETE", "fish");
    let (code, data, talk) = read(command.output().unwrap());
    assert_eq!((code, talk.as_str()), (0, ""), "{line}");
    let value = |line: &str| line.split('\t').next().unwrap().to_owned();
    data.lines().map(value).collect()
}

/// Like [`candidates`], however slow the machine is.
fn complete(world: &World, line: &str) -> Vec<String> {
    candidates(world.command("").env("PARTITA_COMPLETE_WAIT", WAIT), line)
}

#[test]
fn names_come_from_the_account_of_the_line() {
    let world = world();
    let (code, job, talk) = world.run("fleet run count people");
    assert_eq!(code, 0, "{talk}");
    let job = job.trim_end();
    for (line, expected) in [
        ("scan p", &["people", "pets"][..]),
        ("table delete people p", &["people", "pets"]),
        ("table create p", &[]),
        ("copy orders pe", &["people", "pets"]),
        ("queue get j", &["jobs"]),
        ("queue move jobs m", &["mail"]),
        ("sas queue j", &["jobs"]),
        ("sas table o", &["orders"]),
        ("table policy list o", &["orders"]),
        ("scan people --select P", &["PartitionKey"]),
        ("scan people --select N,Fi", &["N,Filler"]),
        ("scan people --select=F", &["--select=Filler"]),
        ("fleet status ", &[job]),
        ("tab", &["table"]),
        ("queue policy r", &["remove"]),
        ("scan people --strat", &["--strategy"]),
        ("scan people --strategy se", &["serial"]),
    ] {
        assert_eq!(complete(&world, line), expected, "{line}");
    }
    // Flags come when a hyphen is typed.
    let names = complete(&world, "scan ");
    assert!(names.contains(&"people".to_owned()), "{names:?}");
    assert!(names.iter().all(|name| !name.starts_with('-')), "{names:?}");
    assert!(complete(&world, "scan --f").contains(&"--filter".to_owned()));

    // The flags so far decide which account is asked.
    let other = World::new();
    other.run("table create elsewhere");
    let endpoint = format!("http://{}/devstoreaccount1", other.server.table());
    for line in [
        format!("--endpoint {endpoint} "),
        format!("--endpoint={endpoint} --jobs 2 "),
    ] {
        assert_eq!(complete(&world, &format!("count {line}")), ["elsewhere"]);
        let to = line.replace("--endpoint", "--to-endpoint");
        assert_eq!(
            complete(&world, &format!("copy people {to}")),
            ["elsewhere"]
        );
    }
    let (code, _, talk) = world.run_on(
        "profile add far --connection-string-stdin",
        other.connection(),
    );
    assert_eq!(code, 0, "{talk}");
    assert_eq!(complete(&world, "table show --profile f"), ["far"]);
    assert_eq!(complete(&world, "profile show "), ["far"]);
    assert_eq!(complete(&world, "table show --profile far "), ["elsewhere"]);
}

#[test]
fn errors_and_slow_servers_give_no_names_and_no_messages() {
    let world = World::new();
    let none: [&str; 0] = [];
    for flags in [
        "--endpoint http://127.0.0.1:1/devstoreaccount1",
        "--profile none",
        "--connection-string x",
    ] {
        assert_eq!(
            complete(&world, &format!("scan {flags} p")),
            none,
            "{flags}"
        );
    }
    // A server that accepts connections and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    let begin = Instant::now();
    let line = format!("scan --endpoint http://{address}/devstoreaccount1 p");
    assert_eq!(candidates(&mut world.command(""), &line), none);
    // The client would wait 35 s.
    assert!(begin.elapsed() < Duration::from_secs(20));
}

/// The stdout and stderr of a shell that runs a script, with `partita` in its path and these arguments.
fn in_shell(world: &World, shell: &[&str], script: &str, arguments: &[&str]) -> (String, String) {
    let program = Path::new(env!("CARGO_BIN_EXE_partita")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new(shell[0]);
    command
        .args(&shell[1..])
        .args(["-c", script])
        .args(arguments)
        .env("PATH", path)
        .env("AZURE_STORAGE_CONNECTION_STRING", world.connection())
        .env("XDG_CONFIG_HOME", world.config())
        .env("PARTITA_COMPLETE_WAIT", WAIT);
    let (code, data, talk) = read(command.output().unwrap());
    assert_eq!(code, 0, "{talk}");
    (data, talk)
}

fn lines(data: &str) -> Vec<String> {
    let lines = data.lines().filter(|line| !line.is_empty());
    lines.map(str::to_owned).collect()
}

/// Completes a line in bash; the words are given as bash splits them.
fn in_bash(world: &World, words: &[&str]) -> Vec<String> {
    let script = "source <(partita completions bash)
        COMP_WORDS=(\"$@\") COMP_CWORD=$(($# - 1)) COMP_TYPE=9
        current=${!#}
        [[ $current == [:=] ]] && current=
        _clap_complete_partita partita \"$current\" \"${@: -2:1}\"
        printf '%s\\n' \"${COMPREPLY[@]}\"
        complete -p partita >&2";
    let arguments = [&["bash", "partita"], words].concat();
    let (data, talk) = in_shell(
        world,
        &["bash", "--norc", "--noprofile"],
        script,
        &arguments,
    );
    assert!(talk.contains("-F _clap_complete_partita partita"), "{talk}");
    lines(&data)
}

#[test]
fn bash_completes_names() {
    if command_is_missing("bash") {
        return;
    }
    let world = world();
    let table = world.server.table();
    let (host, port) = table.split_once(':').unwrap();
    let (slashed, rest) = (format!("//{host}"), format!("{port}/devstoreaccount1"));
    let all = ["Filler", "N", "PartitionKey", "RowKey", "Timestamp"];
    for (words, expected) in [
        (&["scan", "p"][..], &["people", "pets"][..]),
        (&["scan", "people", "--select", "=", "Fi"], &["Filler"]),
        (&["scan", "people", "--select", "="], &all),
        (&["scan", "--filter", "\"N eq 1\"", "o"], &["orders"]),
        (
            &[
                "scan",
                "--endpoint",
                "http",
                ":",
                &slashed,
                ":",
                &rest,
                "pe",
            ],
            &["people", "pets"],
        ),
        (&["queue", "get", ""], &["jobs", "mail"]),
        (&["ta"], &["table"]),
    ] {
        assert_eq!(in_bash(&world, words), expected, "{words:?}");
    }
}

/// Runs only where fish is installed.
#[test]
fn fish_completes_names() {
    if command_is_missing("fish") {
        return;
    }
    let world = world();
    let script = "partita completions fish | source; complete -C $argv[1]";
    for (line, expected) in [
        ("partita scan p", &["people", "pets"][..]),
        ("partita queue get ", &["jobs", "mail"]),
        ("partita scan people --select=F", &["--select=Filler"]),
    ] {
        let (data, _) = in_shell(&world, &["fish", "--no-config"], script, &[line]);
        assert_eq!(lines(&data), expected, "{line}");
    }
}

/// Runs only where zsh is installed. Its completion system is replaced by functions that print what they are given.
#[test]
fn zsh_completes_names() {
    if command_is_missing("zsh") {
        return;
    }
    let world = world();
    let script = "compdef() { : }
        _describe() { local name=$@[-1]; print -l -- \"${(@P)name}\" }
        source <(partita completions zsh)
        words=(\"$@\") CURRENT=$#
        _clap_dynamic_completer_partita";
    for (words, expected) in [
        (&["scan", "p"][..], &["people", "pets"][..]),
        (&["queue", "get", ""], &["jobs", "mail"]),
        (&["scan", "--filter", "'N eq 1'", "o"], &["orders"]),
    ] {
        let arguments = [&["zsh", "partita"], words].concat();
        let (data, _) = in_shell(&world, &["zsh", "-f"], script, &arguments);
        assert_eq!(lines(&data), expected, "{words:?}");
    }
}

fn command_is_missing(name: &str) -> bool {
    Command::new(name).arg("--version").output().is_err()
}

#[test]
fn every_shell_gets_a_registration() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let (code, script, talk) = read(command().args(["completions", shell]).output().unwrap());
        assert_eq!((code, talk.as_str()), (0, ""), "{shell}");
        assert!(script.contains("PARTITA_COMPLETE"), "{shell}: {script}");
    }
}
