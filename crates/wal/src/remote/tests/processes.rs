//! Two processes over one directory, whose hard links are the put-if-absent.

use std::io::{BufRead, BufReader, Lines};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use object_store::local::LocalFileSystem;

use super::*;
use crate::conformance::row;

/// The variable that makes [`the_other_process`] a writer.
const DIRECTORY: &str = "PARTITA_TEST_LOG";

/// What the writer prints before the number of an acknowledged record.
const ACKNOWLEDGED: &str = "acknowledged ";

fn logs_in(directory: &Path) -> RemoteLogs {
    let store = LocalFileSystem::new_with_prefix(directory).unwrap();
    RemoteLogs::new(Arc::new(store), OPTIONS)
}

/// Appends records until the log is fenced, and prints their numbers. Does nothing when it runs as a test.
#[tokio::test]
async fn the_other_process() {
    let Some(directory) = std::env::var_os(DIRECTORY) else {
        return;
    };
    let wal = logs_in(Path::new(&directory)).begin(LIFE).await.unwrap();
    let rows = [row("k", "v")];
    for id in 1.. {
        if let Err(error) = conformance::append(&*wal, RANGE, id, &rows).await {
            assert!(matches!(error, crate::AppendError::Poisoned), "{error}");
            return;
        }
        println!("{ACKNOWLEDGED}{id}");
    }
}

/// The other process, which is killed if the test ends early.
struct Writer {
    process: Child,
    lines: Lines<BufReader<ChildStdout>>,
    acknowledged: u64,
}

impl Writer {
    fn start(directory: &Path) -> Self {
        let name = "remote::tests::processes::the_other_process";
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args([name, "--exact", "--nocapture"])
            .env(DIRECTORY, directory)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        Self {
            process,
            lines,
            acknowledged: 0,
        }
    }

    /// Reads what the process prints until it acknowledged `id` or has ended.
    fn read_up_to(&mut self, id: u64) {
        while self.acknowledged < id
            && let Some(Ok(line)) = self.lines.next()
        {
            if let Some((_, id)) = line.split_once(ACKNOWLEDGED) {
                self.acknowledged = id.parse().unwrap();
            }
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[tokio::test]
async fn another_process_is_fenced_and_its_records_are_read() {
    for killed in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let mut writer = Writer::start(directory.path());
        writer.read_up_to(50);
        assert!(writer.acknowledged >= 50, "the writer ended early");
        if killed {
            writer.process.kill().unwrap();
        }
        let logs = logs_in(directory.path());
        let sealed = logs.seal(LIFE, "heir").await.unwrap();
        let found = recovered(&logs, &sealed, 0).await;
        writer.read_up_to(u64::MAX);
        let status = writer.process.wait().unwrap();
        assert_eq!(
            status.success(),
            !killed,
            "the writer was fenced, or killed"
        );
        let last = found.len() as u64;
        assert_eq!(found, (1..=last).collect::<Vec<u64>>());
        assert!(
            writer.acknowledged <= last,
            "{} and {last}",
            writer.acknowledged
        );
    }
}
