//! What users met when they moved data, each with the number of the report: messages with a place and a remedy, nothing
//! left behind, dry runs that look at the target.

mod begin;
mod files;
mod messages;

use crate::gate::Gate;
use crate::tools::{World, signal};

/// A directory for files.
struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        std::fs::write(self.0.path().join(name), content).unwrap();
        self.path(name)
    }

    /// The names of all files and directories.
    fn names(&self) -> Vec<String> {
        let entries = self.0.path().read_dir().unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    }
}

/// Runs a command that must fail, and returns its messages.
fn refused(world: &World, line: &str) -> String {
    let (code, data, talk) = world.run(line);
    assert_eq!((code, &*data), (2, ""), "{line}: {talk}");
    talk
}

/// Runs a command that must succeed, and returns its messages.
fn done(world: &World, line: &str) -> String {
    let (code, _, talk) = world.run(line);
    assert_eq!(code, 0, "{line}: {talk}");
    talk
}

fn has_table(world: &World, name: &str) -> bool {
    world.run(&format!("table show {name}")).0 == 0
}

/// Kills a command with `kill -9` while the gate holds back one of its requests.
fn kill_at(world: &World, gate: &Gate, line: &str) {
    let mut command = world.command(line);
    command.env("AZURE_STORAGE_CONNECTION_STRING", world.through(gate));
    let child = world.start(&mut command);
    gate.wait();
    signal(&child, "-KILL");
    gate.open();
    assert_eq!(child.wait_with_output().unwrap().status.code(), None);
}

fn rows(count: std::ops::Range<usize>) -> String {
    let row = |at: usize| format!("{{\"PartitionKey\":\"p\",\"RowKey\":\"{at:05}\",\"N\":{at}}}\n");
    count.map(row).collect()
}
