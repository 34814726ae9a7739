//! Appends over a store that fails, and the order of requests.

use std::future::poll_fn;
use std::task::Poll;

use super::*;
use crate::conformance::{add, make_room, row};
use crate::{AppendError, Wal};

/// The weather of one fault at a time.
fn faults_one_by_one() -> [Weather; 6] {
    let slow = Weather {
        delay_max: Duration::from_millis(20),
        ..Weather::default()
    };
    [
        slow,
        Weather {
            error_before: 50,
            ..slow
        },
        Weather {
            error_after: 50,
            ..slow
        },
        Weather { late: 50, ..slow },
        Weather { twice: 100, ..slow },
        Weather {
            unanswered: 30,
            ..slow
        },
    ]
}

#[tokio::test(start_paused = true)]
async fn an_ambiguous_error_is_never_an_unknown_outcome() {
    for (seed, weather) in (0..).zip(faults_one_by_one()) {
        let faults = FaultyStore::new(seed, weather);
        let logs = logs(&faults);
        let wal = logs.begin(LIFE).await.unwrap();
        append(&*wal, 1..=50).await;
        let sealed = logs.seal(LIFE, "heir").await.unwrap();
        assert_eq!(sealed.end, 51);
        let all: Vec<u64> = (1..=50).collect();
        assert_eq!(recovered(&logs, &sealed, 0).await, all, "{weather:?}");
    }
}

/// A store that answers every losing PUT with an error of the server does not hide the seal.
#[tokio::test(start_paused = true)]
async fn a_sealed_writer_is_fenced_for_ever() {
    for losers_fail in [false, true] {
        let faults = FaultyStore::new(
            1,
            Weather {
                losers_fail,
                ..Weather::default()
            },
        );
        let logs = logs(&faults);
        let wal = logs.begin(LIFE).await.unwrap();
        append(&*wal, 1..=2).await;
        let sealed = logs.seal(LIFE, "heir").await.unwrap();
        let rows = [row("k", "v")];
        for _ in 0..2 {
            make_room(&*wal, &rows).await.unwrap();
            let _ = add(&*wal, RANGE, 3, &rows);
            let refused = wal.append_group().await;
            let fenced = matches!(refused, Err(AppendError::Poisoned)) || refused.is_ok();
            assert!(fenced, "{refused:?}");
        }
        assert!(matches!(
            add(&*wal, RANGE, 3, &rows),
            Err(AppendError::Poisoned)
        ));
        assert_eq!(recovered(&logs, &sealed, 0).await, [1, 2]);
        assert_eq!(logs.seal(LIFE, "another").await.unwrap(), sealed);
    }
}

/// A WAL with a group that waits for its append.
async fn with_a_group(logs: &RemoteLogs) -> Arc<dyn Wal> {
    let wal = logs.begin(LIFE).await.unwrap();
    append(&*wal, 1..=1).await;
    let rows = [row("k", "v")];
    make_room(&*wal, &rows).await.unwrap();
    add(&*wal, RANGE, 2, &rows).unwrap();
    wal
}

#[tokio::test(start_paused = true)]
async fn a_dropped_append_poisons_the_log() {
    let faults = FaultyStore::calm();
    let logs = logs(&faults);
    let wal = with_a_group(&logs).await;
    faults.set_weather(STORM);
    let mut appending = Box::pin(wal.append_group());
    poll_fn(|context| {
        assert!(appending.as_mut().poll(context).is_pending());
        Poll::Ready(())
    })
    .await;
    drop(appending);
    let refused = add(&*wal, RANGE, 3, &[row("k", "v")]);
    assert!(matches!(refused, Err(AppendError::Poisoned)));
    assert!(wal.maintain().await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_poisoned_log_ends_an_append_that_the_store_does_not_answer() {
    let faults = FaultyStore::calm();
    let wal = with_a_group(&logs(&faults)).await;
    faults.set_weather(Weather {
        error_before: 100,
        ..Weather::default()
    });
    let ((), outcome) = futures::join!(
        async {
            tokio::time::sleep(Duration::from_secs(30)).await;
            wal.poison();
        },
        wal.append_group()
    );
    assert!(matches!(outcome, Err(AppendError::Io(_))), "{outcome:?}");
}

#[tokio::test(start_paused = true)]
async fn an_append_gives_up_after_its_patience() {
    let faults = FaultyStore::calm();
    let wal = with_a_group(&logs(&faults)).await;
    faults.set_weather(Weather {
        error_before: 100,
        ..Weather::default()
    });
    let began = tokio::time::Instant::now();
    let outcome = wal.append_group().await;
    assert!(matches!(outcome, Err(AppendError::Io(_))), "{outcome:?}");
    assert!(began.elapsed() >= OPTIONS.patience);
}

#[tokio::test(start_paused = true)]
async fn puts_start_at_least_a_gap_apart() {
    let faults = FaultyStore::calm();
    let gap = Duration::from_millis(10);
    let logs = RemoteLogs::new(faults.store(), Options { gap, ..OPTIONS });
    let wal = logs.begin(LIFE).await.unwrap();
    append(&*wal, 1..=1).await;
    let began = tokio::time::Instant::now();
    append(&*wal, 2..=11).await;
    assert_eq!(began.elapsed(), 10 * gap);
    tokio::time::sleep(gap).await;
    let began = tokio::time::Instant::now();
    append(&*wal, 12..=12).await;
    assert_eq!(began.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_group_costs_one_put_and_nothing_else() {
    let faults = FaultyStore::calm();
    let wal = logs(&faults).begin(LIFE).await.unwrap();
    let before = faults.requests();
    append(&*wal, 1..=10).await;
    let after = faults.requests();
    assert_eq!(after.puts - before.puts, 10);
    assert_eq!((after.gets, after.lists), (before.gets, before.lists));
}

#[tokio::test(start_paused = true)]
async fn a_range_is_due_when_its_oldest_record_is_old() {
    let options = Options {
        flush_after_age: Duration::from_secs(5),
        ..OPTIONS
    };
    let logs = RemoteLogs::new(FaultyStore::calm().store(), options);
    let wal = logs.begin(LIFE).await.unwrap();
    append(&*wal, 1..=1).await;
    tokio::time::sleep(Duration::from_secs(4)).await;
    append(&*wal, 2..=2).await;
    assert!(!wal.is_due(RANGE, WalId(0)));
    assert!(wal.stragglers().is_empty());
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(wal.stragglers(), [RANGE]);
    assert!(!wal.is_due(RANGE, WalId(1)), "record 2 is young");
    assert!(wal.is_due(RANGE, WalId(0)));
    assert!(wal.stragglers().is_empty(), "the range is flushing");
}

#[tokio::test(start_paused = true)]
async fn released_objects_are_deleted_and_the_newest_group_stays() {
    let faults = FaultyStore::calm();
    let options = Options {
        segment_bytes: 1,
        ..OPTIONS
    };
    let logs = RemoteLogs::new(faults.store(), options);
    let wal = logs.begin(LIFE).await.unwrap();
    append(&*wal, 1..=5).await;
    wal.release(RANGE, WalId(3));
    wal.maintain().await.unwrap();
    // The groups of records 4 and 5, and a group without records whose floor is 4.
    let numbers = |names: Vec<String>| -> Vec<u64> {
        names.iter().map(|name| name.parse().unwrap()).collect()
    };
    assert_eq!(numbers(stored(&faults, LIFE).await), [4, 5, 6]);
    wal.release(RANGE, WalId(5));
    for _ in 0..3 {
        wal.maintain().await.unwrap();
        assert_eq!(numbers(stored(&faults, LIFE).await), [6, 7]);
        assert!(wal.segment_bytes() < 200);
    }
    let sealed = logs.seal(LIFE, "heir").await.unwrap();
    assert_eq!((sealed.floor, sealed.end), (6, 8));
}
