//! Tests stress tests on a real server: the rows that they write, their figures, and their verdict.

use crate::server;
use partita_client::{ClientOptions, Guid, RetryBudget, RetryPolicy, TableServiceClient};
use partita_server::Server;
use partita_tools::scan::{Order, PartitionCounts};
use partita_tools::stress::{
    FillMetrics, Keys, Pattern, Recorder, Report, Schedule, Settings, State, TableTarget, Targets,
    Test, fill, run_test,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::tables::reader;

const ROWS: u64 = 300;
const RUN: Guid = Guid([7; 16]);

struct World {
    server: Server,
    service: TableServiceClient,
    recorder: Arc<Recorder>,
}

impl World {
    async fn new(flags: &[(&str, &str)], retry: RetryPolicy) -> Self {
        let server = server::start(flags).await;
        let recorder = Arc::new(Recorder::new(Duration::ZERO));
        let options = ClientOptions {
            retry,
            retry_budget: RetryBudget::UNBOUNDED,
            observer: Some(Arc::<Recorder>::clone(&recorder)),
            ..ClientOptions::default()
        };
        let text = server::connection_string(&server);
        let service = TableServiceClient::from_connection_string_with(&text, options).unwrap();
        Self {
            server,
            service,
            recorder,
        }
    }

    /// Creates the table, fills it with `loaded` rows, and runs the test.
    async fn run(&self, settings: Settings, loaded: u64) -> Report {
        let table = self.service.create_table(&settings.table).await.unwrap();
        let keys = Keys::new(settings.pattern.clone(), settings.seed, "run", Vec::new());
        let target = TableTarget {
            table,
            run: RUN,
            row_bytes: usize::try_from(settings.row_bytes).unwrap(),
            range_rows: u32::try_from(settings.range_rows).unwrap(),
            scan_entities: loaded,
        };
        let written = AtomicU64::new(0);
        let count = |more| {
            written.fetch_add(more, Ordering::Relaxed);
        };
        fill(&target, &keys, loaded, 4, count).await.unwrap();
        assert_eq!(written.into_inner(), loaded);
        let load = Some(FillMetrics {
            rows: loaded,
            seconds: 1.0,
            retries: 0,
        });
        let test = Test {
            settings,
            target,
            keys,
            load,
        };
        run_test(test, Arc::clone(&self.recorder), async || {
            std::future::pending().await
        })
        .await
    }

    /// The number of rows and the number of partitions in the table.
    async fn count(&self, table: &str) -> (u64, u64) {
        let table = self.service.table_client(table);
        let mut scan = reader(&table, 1000).scan(Order::Table, None).unwrap();
        let (mut rows, mut partitions, mut counts) = (0, 0, PartitionCounts::default());
        while let Some(batch) = scan.next().await {
            let batch = batch.unwrap();
            rows += batch.rows.len() as u64;
            partitions += counts.add(&batch).len() as u64;
        }
        (rows, partitions + u64::from(counts.finish().is_some()))
    }
}

fn settings(pattern: Pattern, mix: &str, operations: u64) -> Settings {
    Settings {
        endpoint: "here".to_owned(),
        table: "stressed".to_owned(),
        run: RUN.to_string(),
        pattern,
        seed: 1,
        rows: ROWS,
        row_bytes: 100,
        mix: mix.parse().unwrap(),
        batch_rows: 7,
        range_rows: 20,
        aim: None,
        schedule: Schedule::Closed { ramp_seconds: 0.0 },
        workers: 8,
        duration_seconds: None,
        operations: Some(operations),
        retries: 0,
        targets: Targets::AZURE,
    }
}

#[tokio::test]
async fn every_operation_is_executed_and_counted() {
    let world = World::new(&[], RetryPolicy::None).await;
    let mix = "get=30,insert=20,upsert=20,batch=10,row-range=10,partition-range=10,scan=3";
    let report = world
        .run(settings(Pattern::Uniform { partitions: 9 }, mix, 400), ROWS)
        .await;
    assert_eq!(
        (report.all.done, report.all.failed, report.all.missing),
        (400, 0, 0),
        "{:?}",
        report.failures
    );
    assert_eq!(report.operations.len(), 7);
    let of = |name: &str| {
        report
            .operations
            .iter()
            .find(|one| one.operation == name)
            .unwrap()
    };
    let (inserts, batches) = (of("insert"), of("batch"));
    assert_eq!(
        (inserts.entities, batches.entities),
        (inserts.done, batches.done * 7)
    );
    assert_eq!(of("scan").entities, of("scan").done * ROWS);
    let ranges = of("row-range");
    assert!(
        ranges.entities > ranges.done && ranges.entities <= ranges.done * 20,
        "{ranges:?}"
    );
    assert_eq!(report.new_rows, inserts.entities + batches.entities);
    // A scan of so few rows is one page, so each operation is one attempt.
    assert_eq!(
        (report.tries.attempts, report.tries.refused_sum()),
        (400, 0)
    );
    assert_eq!(world.count("stressed").await, (ROWS + report.new_rows, 9));
    let (read, text) = (Report::read(&report.to_json()).unwrap(), report.to_json());
    assert_eq!(read, report, "{text}");
    world.server.stop().await;
}

#[tokio::test]
async fn the_same_seed_gives_the_same_operations() {
    let mut counts = Vec::new();
    for _ in 0..2 {
        let world = World::new(&[], RetryPolicy::None).await;
        let report = world
            .run(
                settings(
                    Pattern::Zipf {
                        partitions: 20,
                        exponent: 1.0,
                    },
                    "get=3,insert",
                    200,
                ),
                ROWS,
            )
            .await;
        let operations: Vec<_> = report
            .operations
            .iter()
            .map(|one| (one.operation.clone(), one.done))
            .collect();
        let partitions: Vec<_> = report
            .partitions
            .iter()
            .map(|one| (one.partition_key.clone(), one.share))
            .collect();
        counts.push((operations, partitions));
        world.server.stop().await;
    }
    assert_eq!(counts[0], counts[1]);
}

#[tokio::test]
async fn a_hot_partition_is_throttled_and_the_advice_names_it() {
    let flags = [("target-partition-entities", "50")];
    let world = World::new(&flags, RetryPolicy::None).await;
    // The server admits a batch of 100 only if the token bucket is full, which takes two seconds.
    let settings = Settings {
        rows: 0,
        batch_rows: 100,
        workers: 4,
        targets: Targets {
            partition: Some(50.0),
            account: None,
        },
        ..settings(Pattern::Single, "batch", 12)
    };
    let report = world.run(settings, 0).await;
    let refused = report.tries.refused["partition-target"];
    assert!(refused > 0 && refused == report.all.failed, "{report:?}");
    assert_eq!(report.tries.given_up["attempts used up"], refused);
    assert_eq!(report.failures["503 ServerBusy"], refused);
    assert_eq!(report.partitions[0].refused, refused);
    assert_eq!(report.verdict.state, State::Over);
    assert!(
        report.verdict.headline.starts_with("Throttled: "),
        "{}",
        report.verdict.headline
    );
    assert!(
        report.verdict.advice[0]
            .starts_with("PartitionKey \"single\" exceeds the target of a partition"),
        "{:?}",
        report.verdict.advice
    );
    world.server.stop().await;
}

#[tokio::test]
async fn retries_and_operations_are_counted_separately() {
    let retry = RetryPolicy::Fixed {
        retries: 50,
        wait: Duration::from_millis(20),
    };
    let world = World::new(&[("target-partition-entities", "50")], retry).await;
    let settings = Settings {
        rows: 0,
        batch_rows: 100,
        workers: 2,
        ..settings(Pattern::Single, "batch", 2)
    };
    let report = world.run(settings, 0).await;
    assert_eq!(
        (report.all.done, report.all.failed),
        (2, 0),
        "{:?}",
        report.failures
    );
    let tries = &report.tries;
    assert!(tries.retried_sum() > 0 && tries.saved > 0, "{tries:?}");
    assert_eq!(tries.attempts, 2 + tries.retried_sum());
    // The client honours the waits that the server requests.
    assert!(tries.waits_asked > 0 && tries.waited_ms > 0, "{tries:?}");
    assert_eq!(world.count("stressed").await, (200, 1));
    world.server.stop().await;
}

#[tokio::test]
async fn growth_at_the_end_is_detected() {
    for (pattern, is_tail) in [
        (Pattern::Append { partition_rows: 5 }, true),
        (Pattern::Prepend { partition_rows: 5 }, false),
    ] {
        let world = World::new(&[], RetryPolicy::None).await;
        let mut settings = settings(pattern, "insert", 200);
        settings.targets = Targets {
            partition: Some(1.0),
            account: None,
        };
        let report = world.run(settings, ROWS).await;
        let growth = report.growth;
        let shares = if is_tail {
            [growth.tail_share, growth.head_share]
        } else {
            [growth.head_share, growth.tail_share]
        };
        assert!(shares[0] > 0.95 && shares[1] < 0.05, "{growth:?}");
        let expected = if is_tail {
            "go to the range at the end of the table"
        } else {
            "go to the range at the start of the table"
        };
        assert!(
            report.verdict.advice[0].contains(expected),
            "{:?}",
            report.verdict.advice
        );
        world.server.stop().await;
    }
}

#[tokio::test]
async fn requests_of_the_fill_are_not_counted() {
    let world = World::new(&[], RetryPolicy::None).await;
    let report = world.run(settings(Pattern::Single, "get", 10), ROWS).await;
    assert_eq!(report.tries.attempts, 10);
    world.server.stop().await;
}
