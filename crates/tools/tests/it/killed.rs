//! Tests transfers that are killed at one of their events, and then resumed.
//!
//! A test starts its own executable as a child process, which runs the transfer and aborts at a given event. The next
//! child resumes from the files and tables that remain.

use crate::server;
use crate::tables::{assert_same, filled, reader};
use partita_client::TableServiceClient;
use partita_tools::formats::Format;
use partita_tools::transfer::{
    Destination, Event, ExportOptions, ImportOptions, Mode, Observer, WriteOptions, copy, export,
    import,
};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The environment variable that contains the job of a child, as words separated by `|`.
const CHILD: &str = "PARTITA_TRANSFER_CHILD";

/// The job of a child.
struct Job<'a> {
    verb: &'a str,
    connection: String,
    path: PathBuf,
    format: Format,
    mode: Mode,
}

/// Aborts the process at the event with the number `events_left`, counted from 1.
struct Killer {
    events_left: AtomicUsize,
}

impl Observer for Killer {
    fn event(&self, _: &Event<'_>) {
        if self.events_left.fetch_sub(1, Ordering::SeqCst) == 1 {
            std::process::abort();
        }
    }
}

/// If the process is a child, runs the job in the environment variable. Returns whether it is a child.
fn is_child() -> bool {
    let Ok(text) = std::env::var(CHILD) else {
        return false;
    };
    let words: Vec<&str> = text.split('|').collect();
    let [verb, connection, path, format, mode, events] = words[..] else {
        panic!("the job does not have six words: {text}");
    };
    let client = TableServiceClient::from_connection_string(connection).unwrap();
    let (source, target) = (client.table_client("source"), client.table_client("target"));
    let observer: Arc<dyn Observer> = Arc::new(Killer {
        events_left: AtomicUsize::new(events.parse().unwrap()),
    });
    let path = Path::new(path);
    let load = WriteOptions {
        mode: serde_json::from_str(mode).unwrap(),
        state: Some(path.with_extension("state")),
        resume: true,
        rows_between_marks: 200,
        jobs: 3,
        ..WriteOptions::default()
    };
    let work = async {
        match verb {
            "export" => {
                let options = ExportOptions {
                    format: serde_json::from_str(format).unwrap(),
                    part_rows_max: 250,
                    resume: true,
                    ..ExportOptions::default()
                };
                let to = match Format::of_path(path) {
                    Some(_) => Destination::File(path.to_owned()),
                    None => Destination::Directory(path.to_owned()),
                };
                export(&reader(&source, 90), &to, &options, &observer).await
            }
            "import" => {
                let options = ImportOptions {
                    load,
                    ..ImportOptions::default()
                };
                import(path, &target, &options, &observer).await
            }
            _ => copy(&reader(&source, 90), &target, &load, &observer).await,
        }
    };
    tokio::runtime::Runtime::new()
        .unwrap()
        .block_on(work)
        .unwrap();
    true
}

/// Runs a job in child processes until one completes. Each child is killed `step` events later than the previous one.
/// Returns the number of killed children.
async fn run_killed(test: &'static str, job: &Job<'_>, step: usize) -> usize {
    let Job {
        verb,
        connection,
        path,
        format,
        mode,
    } = job;
    let [format, mode] =
        [serde_json::to_string(format), serde_json::to_string(mode)].map(Result::unwrap);
    for killed in 0..1000 {
        let events = killed * step + 1;
        let words = format!(
            "{verb}|{connection}|{}|{format}|{mode}|{events}",
            path.display()
        );
        let child = tokio::task::spawn_blocking(move || {
            let this = std::env::current_exe().unwrap();
            let arguments = ["--exact", test, "--nocapture"];
            Command::new(this)
                .args(arguments)
                .env(CHILD, words)
                .output()
                .unwrap()
        });
        let output = child.await.unwrap();
        if output.status.success() {
            return killed;
        }
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.code().is_none(),
            "the child failed instead of being killed: {said}"
        );
    }
    panic!("no child completed the job");
}

#[tokio::test]
async fn killed_exports_resume() {
    // The child creates its own runtime, so it needs a separate thread.
    if tokio::task::spawn_blocking(is_child).await.unwrap() {
        return;
    }
    let (server, client, source, directory) = filled(1000).await;
    for (name, format) in [
        ("parquet", Format::Parquet),
        ("jsonl", Format::Jsonl),
        ("rows.csv", Format::Csv),
    ] {
        let job = Job {
            verb: "export",
            connection: server::connection_string(&server),
            path: directory.path().join(name),
            format,
            mode: Mode::Insert,
        };
        let killed = run_killed("killed::killed_exports_resume", &job, 1).await;
        assert!(killed > 3, "{name}: killed {killed} times");
        let target = client.table_client(&format!("target{}", name.len()));
        let options = ImportOptions::default();
        import(&job.path, &target, &options, &crate::tables::silent())
            .await
            .unwrap();
        assert_same(&source, &target, 1000).await;
        if job.path.is_dir() {
            let strange = |name: &str| !name.starts_with("part-") && name != "_manifest.json";
            let entries = std::fs::read_dir(&job.path).unwrap();
            let mut names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
            assert_eq!(names.find(|name| strange(name)), None);
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn killed_imports_and_copies_resume() {
    if tokio::task::spawn_blocking(is_child).await.unwrap() {
        return;
    }
    let (server, client, source, directory) = filled(1500).await;
    let file = directory.path().join("rows.parquet");
    let to = Destination::File(file.clone());
    let options = ExportOptions {
        format: Format::Parquet,
        ..ExportOptions::default()
    };
    export(
        &reader(&source, 1000),
        &to,
        &options,
        &crate::tables::silent(),
    )
    .await
    .unwrap();
    for verb in ["import", "copy"] {
        for mode in [Mode::Insert, Mode::Merge] {
            let job = Job {
                verb,
                connection: server::connection_string(&server),
                path: file.clone(),
                format: Format::Parquet,
                mode,
            };
            let killed = run_killed("killed::killed_imports_and_copies_resume", &job, 5).await;
            assert!(killed > 3, "{verb} {mode:?}: killed {killed} times");
            let target = client.table_client("target");
            assert_same(&source, &target, 1500).await;
            assert!(!file.with_extension("state").exists());
            target.delete().await.unwrap();
        }
    }
    server.stop().await;
}
