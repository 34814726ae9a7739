//! Imports of files by fleets.

use super::killed::fleet_of_mortals;
use super::memory_queue::MemoryQueue;
use super::{assert_exact, fleet_table, spec, worker};
use crate::tables::{assert_same, reader, rows, silent, started, table};
use partita_client::{Entity, TableClient, TableServiceClient, now};
use partita_tools::fleet::{
    Ended, ImportPlan, Job, JobKind, JobSpec, JobState, start_import, status,
};
use partita_tools::formats::{EntityWriter, Format, Schema};
use partita_tools::transfer::{Destination, ExportOptions, Manifest, Mode, export};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Writes rows to a file of JSON lines.
fn write(path: &Path, rows: &[Entity]) {
    let file = File::create(path).unwrap();
    let mut writer = EntityWriter::new(Format::Jsonl, &Schema::default(), file).unwrap();
    rows.iter().for_each(|row| writer.write(row).unwrap());
    writer.finish().unwrap();
}

/// Starts an import of files and of directories of exports.
async fn started_import(
    client: &TableServiceClient,
    to: &TableClient,
    paths: &[PathBuf],
    (mode, tries): (Mode, u32),
) -> Job {
    let plan = ImportPlan::new(paths.to_vec(), None).await.unwrap();
    let directory = plan.directory.to_str().unwrap().to_owned();
    let spec = JobSpec {
        tries,
        ..spec(to, JobKind::Import { directory, mode })
    };
    let job = start_import(&fleet_table(client), spec, &plan.files).await;
    job.unwrap()
}

/// Exports a table in parts of about 30 rows.
async fn exported(source: &TableClient, directory: &Path) {
    let options = ExportOptions {
        format: Format::Parquet,
        part_rows_max: 30,
        ..ExportOptions::default()
    };
    let destination = Destination::Directory(directory.to_owned());
    let exported = export(&reader(source, 10), &destination, &options, &silent()).await;
    exported.unwrap();
}

#[tokio::test]
async fn an_import_by_killed_workers_equals_the_files() {
    let (server, client) = started().await;
    let server = Arc::new(server);
    let source = table(&client, "source", &rows(600)).await;
    let directory = tempfile::tempdir().unwrap();
    let first = table(&client, "first", &rows(600)[..300]).await;
    let mut paths = vec![directory.path().join("parts")];
    exported(&first, &paths[0]).await;
    for (at, rows) in rows(600)[300..].chunks(40).enumerate() {
        paths.push(directory.path().join(format!("{at}.jsonl")));
        write(paths.last().unwrap(), rows);
    }
    for (seed, mode) in [(50, Mode::Replace), (51, Mode::SkipExisting)] {
        let target = client.create_table(&format!("target{seed}")).await.unwrap();
        let job = started_import(&client, &target, &paths, (mode, 1000)).await;
        fleet_of_mortals(&server, &client, &job, seed, 600).await;
        assert_same(&source, &target, 600).await;
    }
    Arc::into_inner(server).unwrap().stop().await;
}

#[tokio::test]
async fn a_stopped_import_continues_within_its_file() {
    let (server, client) = started().await;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("rows.jsonl");
    write(&path, &rows(2500));
    let target = client.create_table("target").await.unwrap();
    let job = started_import(&client, &target, &[path], (Mode::Replace, 3)).await;
    let queue = MemoryQueue::default();
    let stopped = worker(&client, queue.clone(), &job, 1);
    // The worker is asked to stop when it has received the step, so it stops after the first rows.
    let stop = async {
        while !queue.has_hidden() {
            tokio::task::yield_now().await;
        }
        stopped.stop();
    };
    let (ended, ()) = tokio::join!(stopped.run(), stop);
    assert_eq!(ended.unwrap(), Ended::Stopped);
    let shown = status(&fleet_table(&client), &job.id, now()).await.unwrap();
    assert_eq!((shown.totals.rows, shown.done, shown.open), (1000, 1, 1));
    assert_exact(&client, queue, &job, 2500).await;
    let expected = table(&client, "expected", &rows(2500)).await;
    assert_same(&expected, &target, 2500).await;
    server.stop().await;
}

#[tokio::test]
async fn a_changed_file_of_an_export_is_not_imported() {
    let (server, client) = started().await;
    let source = table(&client, "source", &rows(100)).await;
    let directory = tempfile::tempdir().unwrap();
    let parts = directory.path().join("parts");
    exported(&source, &parts).await;
    let manifest = Manifest::load(&parts).unwrap().unwrap();
    let target = client.create_table("target").await.unwrap();
    let job = started_import(
        &client,
        &target,
        std::slice::from_ref(&parts),
        (Mode::Merge, 1),
    )
    .await;
    let part = parts.join(&manifest.parts[1].file);
    let mut bytes = std::fs::read(&part).unwrap();
    bytes[100] ^= 1;
    std::fs::write(&part, bytes).unwrap();
    let queue = MemoryQueue::default();
    let ended = worker(&client, queue.clone(), &job, 2).run().await.unwrap();
    assert_eq!(ended, Ended::Job(JobState::Failed));
    let shown = status(&fleet_table(&client), &job.id, now()).await.unwrap();
    assert_eq!(
        (shown.dead, shown.totals.rows),
        (1, 100 - manifest.parts[1].rows)
    );
    assert!(shown.errors[0].1.contains("checksum"), "{:?}", shown.errors);
    server.stop().await;
}

#[tokio::test]
async fn the_last_row_of_a_key_stays() {
    let (server, client) = started().await;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("rows.jsonl");
    let version = |version: i32| {
        let keys = (0..150).map(|key| Entity::new("p", format!("{key:03}")));
        keys.map(move |mut row| {
            row.insert("Version", version);
            row
        })
    };
    let lines: Vec<Entity> = (0..5).flat_map(version).collect();
    write(&path, &lines);
    let target = client.create_table("target").await.unwrap();
    let job = started_import(&client, &target, &[path], (Mode::Replace, 3)).await;
    let ended = worker(&client, MemoryQueue::default(), &job, 1).run().await;
    assert_eq!(ended.unwrap(), Ended::Job(JobState::Done));
    let expected = table(&client, "expected", &version(4).collect::<Vec<_>>()).await;
    assert_same(&expected, &target, 150).await;
    server.stop().await;
}
