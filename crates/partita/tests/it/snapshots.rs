//! Tests of the snapshot, backup and restore commands, on a server that is killed between steps.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;

use crate::process::{Server, command, read};

/// Values whose types a conversion could lose.
const EXACT: &str = r#"{"PartitionKey":"","RowKey":"","S":"\"ä","L@odata.type":"Edm.Int64","L":"9007199254740993","D@odata.type":"Edm.Double","D":1.0,"N@odata.type":"Edm.Double","N":"NaN","I":7,"B@odata.type":"Edm.Binary","B":"AP8=","T":true,"G@odata.type":"Edm.Guid","G":"c9da6455-213d-42c9-9a79-3e9149a57833","At@odata.type":"Edm.DateTime","At":"2008-10-01T15:26:04.6812774Z"}"#;

struct World {
    home: tempfile::TempDir,
    server: Server,
    connection: String,
}

impl World {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let (server, connection) = serve(&home.path().join("data"), home.path());
        Self {
            home,
            server,
            connection,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// Kills the server, and starts it again on this directory.
    fn restart(&mut self, data: &str) {
        self.server.kill();
        let (server, connection) = serve(&self.path(data), self.home.path());
        (self.server, self.connection) = (server, connection);
    }

    /// Exit code, stdout, stderr of a command in the home directory.
    fn run(&self, arguments: &str) -> (i32, String, String) {
        read(self.command(arguments).output().unwrap())
    }

    fn command(&self, arguments: &str) -> std::process::Command {
        let arguments = arguments.replace("ADMIN", &format!("--admin {}", self.server.admin()));
        let mut command = command();
        command
            .args(arguments.split_whitespace())
            .current_dir(self.home.path())
            .env("AZURE_STORAGE_CONNECTION_STRING", &self.connection);
        command
    }

    /// The stdout of a command, which must succeed.
    fn done(&self, arguments: &str) -> String {
        let (code, data, talk) = self.run(arguments);
        assert_eq!(code, 0, "{arguments}: {talk}");
        data
    }

    /// The stderr of a command, which must fail.
    fn refused(&self, arguments: &str) -> String {
        let (code, _, talk) = self.run(arguments);
        assert_eq!(code, 2, "{arguments}: {talk}");
        talk
    }

    fn json(&self, arguments: &str) -> Value {
        serde_json::from_str(&self.done(&format!("{arguments} --output json"))).unwrap()
    }

    fn insert(&self, table: &str, rows: &str) {
        let mut child = self.command(&format!("entity insert {table} --stdin"));
        let piped = child.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = piped.stderr(Stdio::piped()).spawn().unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(rows.as_bytes())
            .unwrap();
        let (code, _, talk) = read(child.wait_with_output().unwrap());
        assert_eq!(code, 0, "{talk}");
    }

    /// All entities with types, Timestamps and ETags, as the protocol returns them.
    fn entities(&self, table: &str) -> String {
        self.done(&format!("scan {table} --etag"))
    }
}

fn serve(data: &Path, home: &Path) -> (Server, String) {
    let (data, home) = (data.to_str().unwrap(), home.to_str().unwrap());
    let mut server =
        Server::start_with_admin(&["--location", data, "--backup-place", &format!("{home}/out")]);
    let connection = server.line();
    (server, connection)
}

/// Entities without Timestamps and ETags, which a restore of a table renews.
fn without_versions(entities: &str) -> Vec<Value> {
    let lines = entities.lines().map(|line| {
        let mut entity: Value = serde_json::from_str(line).unwrap();
        let members = entity.as_object_mut().unwrap();
        members.retain(|name, _| !name.starts_with("Timestamp") && name != "odata.etag");
        entity
    });
    lines.collect()
}

#[test]
fn a_table_is_restored_from_a_snapshot() {
    let world = World::new();
    world.done("table create people");
    world.insert("people", EXACT);
    let before = world.entities("people");
    assert_eq!(
        world.run("snapshot list ADMIN").0,
        1,
        "no snapshot exists yet"
    );
    let taken = world.json("snapshot create nightly ADMIN");
    assert!(taken["pause_ms"].as_f64().unwrap() < 1000.0, "{taken}");
    assert!(
        world
            .refused("snapshot create nightly ADMIN")
            .contains("SnapshotExists")
    );
    assert!(
        world
            .refused("snapshot create Nightly ADMIN")
            .contains("invalid snapshot name")
    );
    let shown = world.done("snapshot show nightly ADMIN");
    assert!(shown.contains("devstoreaccount1/people"), "{shown}");
    assert!(world.done("snapshot list ADMIN").contains("nightly"));

    let changed = EXACT
        .replace("\"I\":7", "\"I\":8")
        .replace("\"RowKey\":\"\"", "\"RowKey\":\"new\"");
    world.insert("people", &changed);
    let refused = world.refused("snapshot restore nightly --table people ADMIN");
    assert!(refused.contains("TableExists"), "{refused}");
    world.done("snapshot restore nightly --table people --as again ADMIN");
    let again = world.entities("again");
    assert_eq!(without_versions(&again), without_versions(&before));
    assert_ne!(again, before, "Timestamps and ETags are new");
    assert_eq!(world.entities("people").lines().count(), 2);

    world.done("table delete people again --yes");
    world.done("snapshot restore nightly --all-tables ADMIN");
    assert_eq!(
        without_versions(&world.entities("people")),
        without_versions(&before)
    );
    let refused = world.refused("snapshot restore nightly --table unknown ADMIN");
    assert!(refused.contains("NoSuchTable"), "{refused}");
    let refused = world.refused("snapshot delete nightly ADMIN");
    assert!(refused.contains("--yes"), "{refused}");
    world.done("snapshot delete nightly --yes ADMIN");
    let refused = world.refused("snapshot show nightly ADMIN");
    assert!(refused.contains("NoSuchSnapshot"), "{refused}");
}

#[test]
fn a_backup_restores_etags_and_timestamps_even_after_kills() {
    let mut world = World::new();
    world.done("table create people");
    world.insert("people", EXACT);
    let filler = "x".repeat(500);
    let rows = (0..400)
        .map(|row| format!("{{\"PartitionKey\":\"p\",\"RowKey\":\"{row}\",\"F\":\"{filler}\"}}\n"));
    world.insert("people", &rows.collect::<String>());
    let before = world.entities("people");
    world.done("snapshot create nightly ADMIN");
    world.restart("data");
    world.insert(
        "people",
        &EXACT.replace("\"RowKey\":\"\"", "\"RowKey\":\"later\""),
    );

    let elsewhere = world.refused("backup nightly --to elsewhere ADMIN");
    assert!(elsewhere.contains("--backup-place"), "{elsewhere}");
    assert!(!world.path("elsewhere").exists());
    let climbing = world.refused("backup nightly --to file:///tmp/out/../elsewhere ADMIN");
    assert!(climbing.contains("`..`"), "{climbing}");
    // The server is killed while it may be copying. The next run resumes, whatever the first has copied.
    let mut backup = world.command("backup nightly --to out/backup ADMIN");
    let mut backup = backup
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    world.restart("data");
    backup.wait().unwrap();
    world.done("backup nightly --to out/backup ADMIN");
    world.done("backup verify out/backup");
    let again = world.json("backup nightly --to out/backup ADMIN");
    assert_eq!(again["kept"], again["parts"]);
    world.done("backup --to out/unnamed ADMIN");
    let left: Vec<Value> = world.json("snapshot list ADMIN")["snapshots"]
        .as_array()
        .unwrap()
        .clone();
    assert_eq!(
        left.len(),
        1,
        "the snapshot of the backup was deleted: {left:?}"
    );

    world.done("snapshot restore nightly --to-directory out/unpacked ADMIN");
    world.done("restore --from out/backup --location restored");
    let taken = world.refused("restore --from out/backup --location restored");
    assert!(taken.contains("restored"), "{taken}");
    for data in ["out/unpacked", "restored"] {
        world.restart(data);
        assert_eq!(world.entities("people"), before, "ETags and Timestamps too");
        world.insert(
            "people",
            &EXACT.replace("\"RowKey\":\"\"", "\"RowKey\":\"more\""),
        );
    }

    let part = world.path("out/backup/rows/00000001.part");
    let mut bytes = std::fs::read(&part).unwrap();
    bytes[100] ^= 1;
    std::fs::write(&part, &bytes).unwrap();
    let (code, found, _) = world.run("backup verify out/backup");
    let changed = "{\"finding\":\"changed\",\"file\":\"rows/00000001.part\"}\n";
    assert_eq!((code, found.as_str()), (1, changed));
    let refused = world.refused("restore --from out/backup --location damaged");
    assert!(refused.contains("checksum"), "{refused}");
    assert!(!world.path("damaged").exists());
    std::fs::remove_file(&part).unwrap();
    assert_eq!(
        world.run("backup verify out/backup --output text").1,
        "finding  file\nmissing  rows/00000001.part\n"
    );
}

#[test]
fn an_unnamed_backup_leaves_no_snapshot_after_it_is_resumed_or_abandoned() {
    let world = World::new();
    world.done("table create people");
    world.insert("people", EXACT);
    let snapshots = || {
        let (_, listed, _) = world.run("snapshot list ADMIN --output json");
        let listed: Value = serde_json::from_str(&listed).unwrap();
        listed["snapshots"].as_array().unwrap().len()
    };
    // A file blocks the path of the backup's directory.
    std::fs::create_dir(world.path("out")).unwrap();
    std::fs::write(world.path("out/blocked"), "mine").unwrap();
    let talk = world.refused("backup --to out/blocked ADMIN");
    assert!(talk.contains("cannot create the directory"), "{talk}");
    assert_eq!(
        snapshots(),
        1,
        "the snapshot is kept, so that the backup can be resumed"
    );
    std::fs::remove_file(world.path("out/blocked")).unwrap();
    let command = |talk: &str, before: &str| {
        let (_, command) = talk.split_once(before).unwrap();
        let end = command.find([';', ':']).unwrap();
        format!("{} ADMIN", &command[..end])
    };
    world.done(&command(&talk, "to resume: partita "));
    assert_eq!(snapshots(), 0);
    world.done("backup verify out/blocked");
    // The backup can also be abandoned.
    std::fs::write(world.path("out/again"), "mine").unwrap();
    let talk = world.refused("backup --to out/again ADMIN");
    assert_eq!(snapshots(), 1);
    let give_up = command(&talk, "to give up: partita ");
    world.done(&format!("{give_up} --yes"));
    assert_eq!(snapshots(), 0);
}
