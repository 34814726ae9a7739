//! Logs on a real server: order, collisions, the cost of following.

use crate::server;
use partita_client::{
    AttemptEvent, ClientOptions, DateTime, Entity, ErrorKind, FollowOptions, LogTail, LogTailKey,
    RetryObserver, TableServiceClient, Value,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Counts requests, and bytes of answers.
#[derive(Debug, Default)]
struct Counted {
    requests: AtomicU64,
    received: AtomicU64,
}

impl RetryObserver for Counted {
    fn attempt(&self, event: &AttemptEvent<'_>) {
        self.requests.fetch_add(1, Ordering::SeqCst);
        self.received
            .fetch_add(event.bytes.1 as u64, Ordering::SeqCst);
    }
}

impl Counted {
    /// Requests and bytes since the last call.
    fn take(&self) -> (u64, u64) {
        let take = |count: &AtomicU64| count.swap(0, Ordering::SeqCst);
        (take(&self.requests), take(&self.received))
    }
}

async fn on_a_log(test: impl AsyncFnOnce(LogTail, Arc<Counted>)) {
    let server = server::start(&[]).await;
    let counted = Arc::new(Counted::default());
    let options = ClientOptions {
        observer: Some(Arc::<Counted>::clone(&counted)),
        ..ClientOptions::default()
    };
    let text = server::connection_string(&server);
    let service = TableServiceClient::from_connection_string_with(&text, options).unwrap();
    let table = service.create_table("logs").await.unwrap();
    counted.take();
    test(LogTail::new(table, "it's"), counted).await;
    server.stop().await;
}

/// The log, of an appender whose clock shows this time.
fn at_time(log: &LogTail, seconds: u64) -> LogTail {
    log.clone().with_clock(move || at(seconds))
}

fn row(who: &str, n: i32) -> Entity {
    let mut row = Entity::default();
    row.insert("Who", who).insert("N", n);
    row
}

/// The numbers in the rows of one appender.
fn of(who: &str, rows: &[Entity]) -> Vec<i32> {
    let rows = rows
        .iter()
        .filter(|row| row.get("Who") == Some(&Value::from(who)));
    rows.map(|row| match row.get("N") {
        Some(Value::Int32(n)) => *n,
        other => panic!("{other:?}"),
    })
    .collect()
}

fn at(seconds: u64) -> DateTime {
    let base = DateTime::parse("2026-11-21T20:15:00Z").unwrap();
    DateTime::from_ticks(base.ticks() + seconds * 10_000_000).unwrap()
}

#[tokio::test]
async fn appenders_in_the_same_ticks_keep_all_rows_and_their_order() {
    on_a_log(async |log, _| {
        // Both clocks stand still at the same tick, so the appenders use the same keys.
        let [a, b] = [(); 2].map(|()| log.clone().with_clock(|| at(0)));
        let append = async |log: LogTail, who: &str| {
            let mut n = 0;
            for count in [1, 1, 7, 1, 100, 3, 1, 1] {
                let rows = (n..n + count).map(|n| row(who, n)).collect();
                let keys = log.append_all(rows).await.unwrap();
                assert_eq!(keys.len(), usize::try_from(count).unwrap());
                assert!(keys.is_sorted_by(|a, b| a > b), "each is newer");
                n += count;
            }
            n
        };
        let (a_rows, b_rows) = tokio::join!(append(a, "a"), append(b, "b"));
        let rows = log.latest(1000).await.unwrap();
        assert_eq!(rows.len(), 230);
        for (who, count) in [("a", a_rows), ("b", b_rows)] {
            let expected: Vec<_> = (0..count).rev().collect();
            assert_eq!(of(who, &rows), expected, "{who}");
        }
        let keys = rows.iter().map(|row| row.row_key().parse::<LogTailKey>());
        let keys: Vec<_> = keys.map(Result::unwrap).collect();
        assert!(keys.is_sorted());
        assert!(keys.iter().any(|key| key.suffix().is_some()));
    })
    .await;
}

#[tokio::test]
async fn rows_keep_their_order_if_the_clock_goes_back() {
    on_a_log(async |log, _| {
        let clock = Arc::new(AtomicU64::new(0));
        let read = Arc::clone(&clock);
        let log = log.with_clock(move || at(read.load(Ordering::SeqCst)));
        for (n, seconds) in (0..).zip([100, 50, 50, 101, 0, 99]) {
            clock.store(seconds, Ordering::SeqCst);
            log.clone().append(row("a", n)).await.unwrap();
        }
        let rows = log.latest(10).await.unwrap();
        assert_eq!(of("a", &rows), [5, 4, 3, 2, 1, 0]);
    })
    .await;
}

#[tokio::test]
async fn the_latest_rows_take_one_short_page() {
    on_a_log(async |log, counted| {
        for from in (0..1200).step_by(100) {
            let rows = (from..from + 100).map(|n| row("a", n)).collect();
            log.append_all(rows).await.unwrap();
        }
        counted.take();
        let rows = log.latest(3).await.unwrap();
        assert_eq!(of("a", &rows), [1199, 1198, 1197]);
        let (requests, bytes) = counted.take();
        assert_eq!(requests, 1);
        assert!(bytes < 1000, "{bytes} bytes for three rows");

        let selected = log.clone().select(["N"]).latest(1).await.unwrap();
        assert_eq!(selected[0].get("N"), Some(&1199.into()));
        assert_eq!(
            (selected[0].get("Who"), selected[0].timestamp()),
            (None, None)
        );
        counted.take();

        let rows = log.latest(1100).await.unwrap();
        assert_eq!(rows.len(), 1100);
        assert_eq!(counted.take().0, 2);
        let time = rows[49].row_key().parse::<LogTailKey>().unwrap().time();
        assert_eq!(log.latest_since(time, 1000).await.unwrap().len(), 50);
        assert_eq!(log.latest_since(time, 20).await.unwrap().len(), 20);

        for rows in [0, 101] {
            let rows = vec![Entity::default(); rows];
            let error = log.append_all(rows).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Input);
        }
    })
    .await;
}

#[tokio::test]
async fn following_queries_only_rows_not_older_than_the_newest() {
    on_a_log(async |log, counted| {
        let log = log.with_clock(|| at(10));
        for from in [0, 100] {
            let rows = (from..from + 100).map(|n| row("a", n)).collect();
            log.append_all(rows).await.unwrap();
        }
        let latest = log.latest(5).await.unwrap();
        let mut follow = log.follow(&latest, FollowOptions::default());
        counted.take();
        assert_eq!(follow.poll().await.unwrap().rows, []);
        let (requests, bytes) = counted.take();
        assert_eq!(requests, 1);
        assert!(bytes < 400, "{bytes} bytes: the newest row at most");

        for n in 200..203 {
            log.append(row("a", n)).await.unwrap();
        }
        let new = follow.poll().await.unwrap();
        assert_eq!(of("a", &new.rows), [200, 201, 202], "in their order");
        assert!(!new.is_cut);
        assert_eq!(follow.poll().await.unwrap().rows, []);

        // Another appender uses the tick of the newest row; its key sorts after that row's key.
        let newest = new.rows[2].row_key().parse::<LogTailKey>().unwrap().time();
        let other = log.clone().with_clock(move || newest);
        let key = other.append(row("b", 0)).await.unwrap();
        assert!(key.suffix().is_some());
        assert_eq!(of("b", &follow.next().await.unwrap().rows), [0]);
        assert_eq!(follow.poll().await.unwrap().rows, []);
    })
    .await;
}

#[tokio::test]
async fn rows_that_become_visible_late_are_found_by_looking_back() {
    on_a_log(async |log, _| {
        for (n, seconds) in (0..).zip([0, 10]) {
            at_time(&log, seconds).append(row("a", n)).await.unwrap();
        }
        let latest = log.latest(2).await.unwrap();
        let late = FollowOptions {
            late: Duration::from_secs(5),
            ..FollowOptions::default()
        };
        let mut looks_back = log.follow(&latest, late);
        let mut looks_on = log.follow(&latest, FollowOptions::default());
        for (n, seconds) in (0..).zip([3, 7, 12]) {
            at_time(&log, seconds).append(row("b", n)).await.unwrap();
        }
        assert_eq!(of("b", &looks_on.poll().await.unwrap().rows), [2]);
        assert_eq!(of("b", &looks_back.poll().await.unwrap().rows), [1, 2]);
        assert_eq!(looks_back.poll().await.unwrap().rows, []);

        // Without initial rows, the follower returns all rows of the log, but no rows of other partitions.
        let mut other = Entity::new("it's", "1");
        other.insert("N", 1);
        log.table().create_entity(&other).await.unwrap();
        let mut all = log.follow(&[], FollowOptions::default());
        assert_eq!(all.poll().await.unwrap().rows.len(), 5);
        assert_eq!(all.poll().await.unwrap().rows, []);
    })
    .await;
}

#[tokio::test]
async fn following_from_a_time_without_rows_returns_no_older_rows() {
    on_a_log(async |log, _| {
        at_time(&log, 3).append(row("a", 0)).await.unwrap();
        let latest = log.latest_since(at(5), 10).await.unwrap();
        assert_eq!(latest, []);
        let mut follow = log.follow_from(at(5), &latest, FollowOptions::default());
        assert_eq!(follow.poll().await.unwrap().rows, []);
        for (n, seconds) in (1..).zip([4, 5, 7]) {
            at_time(&log, seconds).append(row("a", n)).await.unwrap();
        }
        assert_eq!(of("a", &follow.poll().await.unwrap().rows), [2, 3]);
    })
    .await;
}
