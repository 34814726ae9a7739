//! Tests of `partita migrate`: confirmation, costs, invalid files, leases of other runs.

use std::path::Path;

use crate::process::read;
use crate::tools::World;

/// A directory of migrations.
struct Files(tempfile::TempDir);

impl Files {
    fn new(files: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(directory.path().join(name), text).unwrap();
        }
        Self(directory)
    }

    fn run(&self, world: &World, arguments: &str) -> (i32, String, String) {
        let mut command = world.command(&format!("migrate {arguments}"));
        command.arg("--directory").arg(self.0.path());
        read(command.output().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

const CREATE: &str = "version = 1\nid = \"create\"\n[[up]]\noperation = \"create_table\"\ntable = \"tab\"\n[[down]]\noperation = \"delete_table\"\ntable = \"tab\"\n";
const INSERT: &str = "version = 2\nid = \"insert\"\n[[up]]\noperation = \"insert\"\ntable = \"tab\"\nrows = [{ PartitionKey = \"a\", RowKey = \"1\" }, { PartitionKey = \"b\", RowKey = \"1\" }]\n[[up]]\noperation = \"delete\"\ntable = \"tab\"\npartition_key = \"a\"\nrow_key = \"1\"\n";

/// The number before a word.
fn number_before(text: &str, word: &str) -> u64 {
    let (before, _) = text.split_once(word).unwrap();
    let number = before.rsplit(' ').next().unwrap();
    number.parse().unwrap()
}

#[test]
fn a_run_sends_as_many_requests_as_planned() {
    let world = World::new();
    let files = Files::new(&[("1.toml", CREATE), ("2.toml", INSERT)]);
    let (code, data, talk) = files.run(&world, "plan");
    assert_eq!((code, data.lines().count()), (0, 3), "{talk}");
    assert!(
        talk.starts_with("2 migrations with 3 steps would take "),
        "{talk}"
    );
    let planned = number_before(&talk, " requests, ");
    let (code, _, talk) = files.run(&world, "up --yes");
    assert_eq!(code, 0, "{talk}");
    let last = talk.lines().last().unwrap();
    assert!(
        last.starts_with("2 migrations with 3 steps run, "),
        "{talk}"
    );
    // Reading the records before the confirmation is a request too.
    assert_eq!(number_before(last, " requests, "), planned + 1);
    let (code, data, talk) = files.run(&world, "plan");
    assert_eq!((code, &*data), (1, ""));
    assert!(talk.starts_with("nothing to do, 1 request, "), "{talk}");
    assert_eq!(files.run(&world, "up").0, 0);
}

#[test]
fn destructive_steps_need_confirmation_and_a_dry_run_writes_nothing() {
    let world = World::new();
    let files = Files::new(&[("1.toml", CREATE), ("2.toml", INSERT)]);
    let (code, _, talk) = files.run(&world, "up");
    assert_eq!(code, 2);
    assert!(
        talk.contains("add --yes to run 2 migrations up, with steps that delete or overwrite: "),
        "{talk}"
    );
    let (code, data, _) = files.run(&world, "up --dry-run");
    assert_eq!((code, data.lines().count()), (0, 3));
    assert_eq!(world.run("table list").0, 1, "no table was created");
    // Steps that only create need no confirmation.
    let (code, _, talk) = files.run(&world, "up --to 1");
    assert_eq!(code, 0, "{talk}");
    assert!(
        talk.starts_with("1 create, step 1 of 1: create table tab\n"),
        "{talk}"
    );
    let (_, data, talk) = files.run(&world, "status");
    assert!(
        data.contains("\"applied\"") && data.contains("\"pending\""),
        "{data}"
    );
    assert!(talk.starts_with("2 migrations, 1 to run, "), "{talk}");

    let (code, data, talk) = files.run(&world, "plan --down");
    assert_eq!(code, 0, "{talk}");
    assert!(data.contains("delete table tab"), "{data}");
    assert_eq!(files.run(&world, "down").0, 2);
    let (code, _, talk) = files.run(&world, "down --yes");
    assert_eq!(code, 0, "{talk}");
    assert!(
        talk.contains("1 create down, step 1 of 1: delete table tab\n"),
        "{talk}"
    );
    assert!(
        talk.contains("1 migration with 1 step reverted, "),
        "{talk}"
    );
    let (_, data, _) = files.run(&world, "status");
    assert!(data.contains("\"reverted\""), "{data}");
}

#[test]
fn files_that_contradict_the_records_are_reported() {
    let world = World::new();
    let files = Files::new(&[("1.toml", CREATE), ("2.toml", INSERT)]);
    assert_eq!(files.run(&world, "up --yes").0, 0);
    std::fs::remove_file(files.path().join("1.toml")).unwrap();
    std::fs::write(
        files.path().join("2.toml"),
        INSERT.replace("\"b\"", "\"c\""),
    )
    .unwrap();
    let (_, data, _) = files.run(&world, "status -o csv");
    assert!(
        data.contains("1,create,\"applied, not here\"") && data.contains("2,insert,changed"),
        "{data}"
    );
    for verb in ["plan", "up", "down"] {
        let (code, _, talk) = files.run(&world, verb);
        assert_eq!(code, 2);
        assert!(talk.contains("2.toml) has changed since it ran"), "{talk}");
    }
    std::fs::write(
        files.path().join("2.toml"),
        INSERT.replace("insert\"\n[", "insert\"\nx = 1\n["),
    )
    .unwrap();
    let (code, _, talk) = files.run(&world, "up");
    assert_eq!(code, 2);
    assert!(
        talk.contains("2.toml:3:1: unknown key x; expected one of version, id"),
        "{talk}"
    );
    let (code, _, talk) = world.run("migrate status --directory /nonexistent");
    assert!(
        code == 2 && talk.contains("directory /nonexistent not found; --directory"),
        "{talk}"
    );
}

#[test]
fn a_lease_of_another_run_blocks_until_it_is_taken_over() {
    let world = World::new();
    let files = Files::new(&[("1.toml", CREATE)]);
    assert_eq!(world.run("table create versionData").0, 0);
    let lease = "entity insert versionData lease lease Who=Dukat Seconds:int32=3600";
    assert_eq!(world.run(lease).0, 0);
    let (code, _, talk) = files.run(&world, "up");
    assert_eq!(code, 2);
    assert!(
        talk.contains("Dukat is running migrations in this account; its lease expires in 3")
            && talk.contains(" s unless it is renewed"),
        "{talk}"
    );
    assert_eq!(world.run("table show tab").0, 1);
    let (code, _, talk) = files.run(&world, "up --take-over");
    assert_eq!(code, 0, "{talk}");
    assert_eq!(world.run("table show tab").0, 0);
    assert_eq!(
        world.run("entity get versionData lease lease").0,
        1,
        "the run released the lease"
    );
}
