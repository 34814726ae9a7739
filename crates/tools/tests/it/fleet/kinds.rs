//! Each kind of job, by a fleet whose workers are killed at random points.

use super::killed::fleet_of_mortals;
use super::memory_queue::MemoryQueue;
use super::{assert_exact, fleet_table, spec, started_job, worker};
use crate::server;
use crate::tables::{assert_same, rows, silent, started, table};
use futures::TryStreamExt as _;
use partita_client::{Entity, QueryOptions, QueueServiceClient, ReceiveOptions, TableClient};
use partita_tools::fleet::{Access, Ended, JobKind, JobState, Per, TablePlace, Worker};
use partita_tools::formats::Format;
use partita_tools::transfer::{ImportOptions, Manifest, Progress, import};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const ROWS: usize = 600;

async fn all(table: &TableClient) -> Vec<Entity> {
    let all = table.query_entities(QueryOptions::new());
    all.try_collect().await.unwrap()
}

#[tokio::test]
async fn an_export_by_killed_workers_equals_the_table() {
    let (server, client) = started().await;
    let server = Arc::new(server);
    let source = table(&client, "source", &rows(ROWS)).await;
    let directory = tempfile::tempdir().unwrap();
    for (seed, format) in [(20, Format::Parquet), (21, Format::Jsonl)] {
        let path = directory.path().join(format.name());
        let kind = JobKind::Export {
            directory: path.to_str().unwrap().to_owned(),
            format,
        };
        let mut spec = spec(&source, kind);
        spec.step_rows = 60;
        let job = started_job(&client, spec).await;
        fleet_of_mortals(&server, &client, &job, seed, ROWS).await;
        let manifest = Manifest::load(&path).unwrap().unwrap();
        assert_eq!(
            (manifest.progress, manifest.rows),
            (Progress::Complete, ROWS as u64)
        );
        // The directory has the files of the manifest, and no others.
        let files = std::fs::read_dir(&path).unwrap().count();
        assert_eq!(files, manifest.parts.len() + 1);
        let target = client.table_client(&format!("target{seed}"));
        let options = ImportOptions::default();
        import(&path, &target, &options, &silent()).await.unwrap();
        assert_same(&source, &target, ROWS).await;
    }
    Arc::into_inner(server).unwrap().stop().await;
}

#[tokio::test]
async fn a_purge_by_killed_workers_deletes_only_matching_rows() {
    let (server, client) = started().await;
    let server = Arc::new(server);
    let source = table(&client, "source", &rows(ROWS)).await;
    let kept = table(&client, "kept", &rows(ROWS)[..200]).await;
    let mut spec = spec(&source, JobKind::Purge);
    spec.source.filter = Some("N ge 200".to_owned());
    let job = started_job(&client, spec).await;
    let killed = super::killed::run_mortals(&server, &MemoryQueue::default(), &job, 30).await;
    assert!(killed > 0);
    let ended = worker(&client, MemoryQueue::default(), &job, 1).run().await;
    assert_eq!(ended.unwrap(), Ended::Job(JobState::Done));
    assert_same(&source, &kept, 200).await;
    let job = fleet_table(&client).job(&job.id).await.unwrap();
    let found = partita_tools::fleet::verify(&super::access(&client), &job).await;
    assert!(found.unwrap().is_equal());
    Arc::into_inner(server).unwrap().stop().await;
}

#[tokio::test]
async fn an_undisturbed_purge_counts_its_rows() {
    let (server, client) = started().await;
    let source = table(&client, "source", &rows(ROWS)).await;
    let job = started_job(&client, spec(&source, JobKind::Purge)).await;
    let ended = worker(&client, MemoryQueue::patient(), &job, 3).run().await;
    assert_eq!(ended.unwrap(), Ended::Job(JobState::Done));
    let totals = fleet_table(&client).job(&job.id).await.unwrap().totals;
    assert_eq!(totals.unwrap().effects, ROWS as u64);
    assert_eq!(all(&source).await, []);
    server.stop().await;
}

#[tokio::test]
async fn distinct_keys_are_found_once() {
    let (server, client) = started().await;
    let server = Arc::new(server);
    let source = table(&client, "source", &rows(ROWS)).await;
    let keys = client.create_table("keys").await.unwrap();
    let to = TablePlace {
        endpoint: keys.endpoint().to_string(),
        table: keys.name().to_owned(),
    };
    let kind = JobKind::Partitions { to: Some(to) };
    let job = started_job(&client, spec(&source, kind)).await;
    let of = |rows: &[Entity]| -> BTreeSet<String> {
        let keys = rows.iter().map(|row| row.partition_key().to_owned());
        keys.collect()
    };
    let expected = of(&rows(ROWS));
    let queue = MemoryQueue::default();
    super::killed::run_mortals(&server, &queue, &job, 40).await;
    assert_exact(&client, queue, &job, expected.len() as u64).await;
    assert_eq!(of(&all(&keys).await), expected);
    Arc::into_inner(server).unwrap().stop().await;
}

#[tokio::test]
async fn each_row_or_partition_gets_a_message() {
    let (server, client) = started().await;
    let source = table(&client, "source", &rows(90)).await;
    let text = server::connection_string(&server);
    let queues = QueueServiceClient::from_connection_string(&text).unwrap();
    // The first row of each partition has its lowest RowKey.
    let mut firsts = BTreeMap::new();
    for row in rows(90) {
        let first = firsts.entry(row.partition_key().to_owned());
        let first: &mut String = first.or_insert_with(|| row.row_key().to_owned());
        *first = row.row_key().to_owned().min(first.clone());
    }
    let firsts = firsts.into_values().collect();
    let every = rows(90)
        .iter()
        .map(|row| row.row_key().to_owned())
        .collect();
    for (per, name, expected) in [(Per::Row, "rows", every), (Per::Partition, "keys", firsts)] {
        let target = queues.create_queue(name).await.unwrap();
        let kind = JobKind::Enqueue {
            queue: target.name().to_owned(),
            per,
            body: "{{{RowKey}}}".to_owned(),
        };
        let job = started_job(&client, spec(&source, kind)).await;
        let access = Access {
            queues: Some(queues.clone()),
            ..super::access(&client)
        };
        let options = partita_tools::fleet::WorkerOptions {
            loops: 2,
            name: String::new(),
        };
        let (table, queue) = (fleet_table(&client), MemoryQueue::default());
        let ended = Worker::new(table, queue, &job.id, access, options)
            .run()
            .await;
        assert_eq!(ended.unwrap(), Ended::Job(JobState::Done));
        let mut found = Vec::new();
        loop {
            let options = ReceiveOptions {
                count: 32,
                ..ReceiveOptions::default()
            };
            let messages = target.receive_messages(&options).await.unwrap();
            if messages.is_empty() {
                break;
            }
            found.extend(messages.into_iter().map(|message| message.text));
        }
        found.sort();
        let expected: BTreeSet<String> = expected;
        let expected = expected.iter().map(|key| format!("{{{key}}}"));
        assert_eq!(found, expected.collect::<Vec<_>>());
    }
    server.stop().await;
}

#[cfg(unix)]
#[tokio::test]
async fn a_command_gets_each_row_and_its_exit_code_decides() {
    let (server, client) = started().await;
    let source = table(&client, "source", &rows(90)).await;
    let directory = tempfile::tempdir().unwrap();
    // The first run of each step fails.
    let command = format!(
        "cd '{}' && if mkdir tried-$PARTITA_STEP 2>/dev/null; then exit 3; fi; cat > rows-$PARTITA_STEP.jsonl",
        directory.path().display()
    );
    let job = started_job(&client, spec(&source, JobKind::Exec { command })).await;
    assert_exact(&client, MemoryQueue::default(), &job, 90).await;
    let mut lines = Vec::new();
    for entry in std::fs::read_dir(directory.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let text = std::fs::read_to_string(path).unwrap();
            lines.extend(text.lines().map(|line| {
                let row = Entity::read(line.as_bytes()).unwrap();
                (row.partition_key().to_owned(), row.row_key().to_owned())
            }));
        }
    }
    lines.sort();
    let keys = |row: &Entity| (row.partition_key().to_owned(), row.row_key().to_owned());
    let mut expected: Vec<_> = rows(90).iter().map(keys).collect();
    expected.sort();
    assert_eq!(lines, expected);
    server.stop().await;
}
