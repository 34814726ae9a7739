//! Tests of `partita queue`: input, following, acknowledgement, the poison rule, moving.

use crate::process::{read, rest_of_stderr};
use crate::tools::{World, signal};
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

/// A server with this queue.
fn with_queue(name: &str) -> World {
    let world = World::new();
    let (code, _, talk) = world.run(&format!("queue create {name}"));
    assert_eq!(code, 0, "{talk}");
    world
}

/// The visible messages of a queue.
fn peeked(world: &World, queue: &str) -> String {
    let (_, data, _) = world.run(&format!("queue peek {queue} -n 32 --text"));
    data
}

/// The value of a field of each JSON line.
fn fields(data: &str, name: &str) -> Vec<String> {
    let field = |line: &str| {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        match &row[name] {
            serde_json::Value::String(text) => text.clone(),
            other => other.to_string(),
        }
    };
    data.lines().map(field).collect()
}

#[test]
fn lines_become_messages_in_order() {
    let world = with_queue("jobs");
    let input: String = (0..100).map(|n| format!("  job {n} <é>\n")).collect();
    let (code, data, talk) = world.run_on("queue put jobs -", &input);
    assert_eq!((code, data.lines().count()), (0, 100), "{talk}");
    assert!(
        talk.starts_with("100 messages put, 100 requests, "),
        "{talk}"
    );
    let (code, data, talk) = world.run("queue get jobs -n 200 --delete --text");
    assert_eq!((code, data), (0, input), "{talk}");
    assert!(talk.starts_with("100 messages, "), "{talk}");
    let (code, data, talk) = world.run("queue get jobs");
    assert_eq!((code, &*data), (1, ""), "{talk}");

    // Messages that were received can be put again; invalid lines are named.
    let (_, ids, _) = world.run_on("queue put jobs - --json --jobs 4", "{\"text\":\"a\"}\n");
    let (_, data, _) = world.run("queue get jobs --delete");
    assert_eq!(fields(&data, "MessageId"), fields(&ids, "MessageId"));
    assert_eq!(world.run_on("queue put jobs - --json", &data).0, 0);
    let (code, _, talk) =
        world.run_on("queue put jobs - --json", "{\"text\":\"b\"}\n{\"tex\":1}\n");
    assert_eq!(code, 2);
    assert!(talk.contains("1 message put before the error"), "{talk}");
    assert!(
        talk.contains("line 2 of the input is invalid: unknown field `tex`"),
        "{talk}"
    );
    assert_eq!(peeked(&world, "jobs"), "a\nb\n");
    let (code, _, talk) = world.run("queue put jobs x --json");
    assert!(code == 2 && talk.contains("--json needs -"), "{talk}");
}

/// Linux: other systems have no /dev/full.
#[cfg(target_os = "linux")]
#[test]
fn received_messages_are_hidden_and_not_deleted() {
    let world = with_queue("jobs");
    world.run_on("queue put jobs -", "a\nb\n");
    let (_, data, _) = world.run("queue get jobs --visibility 1h --text");
    assert_eq!(
        (data, peeked(&world, "jobs")),
        ("a\n".to_owned(), "b\n".to_owned())
    );
    let (_, data, _) = world.run("queue list --count");
    assert_eq!(fields(&data, "messages"), ["2"]);
    // Messages that cannot be printed are not deleted.
    let full = std::fs::File::options().write(true).open("/dev/full");
    let mut command = world.command("queue get jobs --visibility 1h --delete");
    let (code, _, talk) = read(command.stdout(full.unwrap()).output().unwrap());
    assert!(
        code == 2 && talk.contains("cannot write the output"),
        "{talk}"
    );
    let (_, data, _) = world.run("queue list --count");
    assert_eq!(fields(&data, "messages"), ["2"]);
}

#[test]
fn a_follower_shows_messages_as_they_arrive() {
    let world = with_queue("jobs");
    world.run("queue put jobs first");
    let line = "queue get jobs --follow --delete --text";
    let mut child = world.start(&mut world.command(line));
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    for text in ["first", "second", "third"] {
        if text != "first" {
            world.run(&format!("queue put jobs {text}"));
        }
        assert_eq!(lines.next().unwrap().unwrap(), text);
    }
    signal(&child, "-INT");
    let talk = rest_of_stderr(&mut child);
    assert_eq!(child.wait().unwrap().code(), Some(0), "{talk}");
    assert!(talk.starts_with("3 messages, "), "{talk}");

    // With a count, it ends by itself.
    let line = "queue get jobs --follow -n 2 --text";
    let child = world.start(world.command(line).stdin(Stdio::null()));
    world.run_on("queue put jobs -", "x\ny\nz\n");
    let (code, data, talk) = read(child.wait_with_output().unwrap());
    assert_eq!((code, &*data), (0, "x\ny\n"), "{talk}");
}

#[test]
fn poison_messages_go_to_another_queue_and_back() {
    let world = with_queue("jobs");
    world.run_on("queue put jobs -", "bad\n");
    // Each follower ends after a message, which becomes visible again after a second.
    for _ in 0..2 {
        let line = "queue get jobs --follow -n 1 --visibility 1s --max-dequeue 2 --text";
        let (code, data, talk) = world.run(line);
        assert_eq!((code, &*data), (0, "bad\n"), "{talk}");
    }
    world.run("queue put jobs --visibility 2s good");
    let line = "queue get jobs --follow -n 1 --max-dequeue 2 --text --delete";
    let (code, data, talk) = world.run(line);
    assert_eq!((code, &*data), (0, "good\n"), "{talk}");
    assert!(
        talk.starts_with("1 message, 1 moved to jobs-poison, "),
        "{talk}"
    );
    let (code, data, _) = world.run("queue dead jobs");
    assert_eq!(
        (code, fields(&data, "MessageText")),
        (0, vec!["bad".to_owned()])
    );
    let (code, _, talk) = world.run("queue dead jobs --requeue");
    assert!(
        talk.starts_with("1 message moved from jobs-poison to jobs, "),
        "{talk}"
    );
    assert_eq!((code, peeked(&world, "jobs")), (0, "bad\n".to_owned()));
    assert_eq!(world.run("queue dead jobs --requeue").0, 1);
    let (code, _, talk) = world.run("queue get jobs --to jobs --max-dequeue 1");
    assert!(code == 2 && talk.contains("are the same queue"), "{talk}");
}

#[test]
fn moved_messages_keep_text_and_expiry() {
    let world = with_queue("from");
    world.run("queue put from --ttl never forever");
    world.run("queue put from --ttl 1h soon");
    world.run("queue put from --visibility 1h hidden");
    let (code, _, talk) = world.run("queue move from goal");
    assert!(
        code == 2
            && talk.contains("there is no queue goal; `partita queue create goal` creates it"),
        "{talk}"
    );
    assert_eq!(peeked(&world, "from"), "forever\nsoon\n");
    let (_, before, _) = world.run("queue peek from -n 32");
    let (code, _, talk) = world.run("queue move from goal --create-queue -n 1");
    assert!(
        talk.starts_with("1 message moved from from to goal, "),
        "{talk}"
    );
    assert_eq!((code, peeked(&world, "goal")), (0, "forever\n".to_owned()));
    assert_eq!(world.run("queue move from goal").0, 0);
    let (_, after, _) = world.run("queue peek goal -n 32");
    assert_eq!(fields(&after, "MessageText"), ["forever", "soon"]);
    let expiry = |data: &str| fields(data, "ExpirationTime");
    assert_eq!(expiry(&before)[0], expiry(&after)[0]);
    // A new message expires in seven days, the moved one within the hour.
    let (_, new, _) = world.run("queue put goal new");
    assert!(expiry(&after)[1] < expiry(&new)[0], "{after}");
    let (_, data, _) = world.run("queue list --count");
    assert_eq!(fields(&data, "messages"), ["1", "3"], "{data}");
    assert_eq!(world.run("queue move from goal").0, 1);
    let (code, _, talk) = world.run("queue move goal goal");
    assert!(
        code == 2 && talk.contains("FROM and TO are the same queue"),
        "{talk}"
    );
}

#[test]
fn destructive_commands_ask() {
    let world = with_queue("jobs");
    world.run("queue put jobs x");
    for line in ["queue clear jobs", "queue delete jobs"] {
        let (code, _, talk) = world.run(line);
        assert!(code == 2 && talk.contains("add --yes to delete"), "{talk}");
    }
    assert_eq!(peeked(&world, "jobs"), "x\n");
    assert_eq!(world.run("queue clear jobs --yes").0, 0);
    assert_eq!(peeked(&world, "jobs"), "");
    assert_eq!(world.run("queue delete jobs none --yes").0, 0);
    let (code, _, talk) = world.run("queue show jobs");
    assert_eq!(code, 1, "{talk}");
    assert!(talk.starts_with("there is no queue jobs\n"), "{talk}");
}
