//! Tests of waits and timeouts.

use crate::faults::{Decisions, Ended, entity, failed_get, quick, retry, table};
use crate::faulty_server::{Act, FaultyServer, status};
use futures::TryStreamExt as _;
use partita_client::{
    AttemptEvent, Decision, Entity, ErrorKind, GiveUp, Outcome, QueryOptions, RetryObserver,
    RetryPolicy, RetryReason,
};
use std::sync::Arc;
use std::time::Duration;

/// The wait of a retry that the server requested.
fn requested_wait_of(decision: &Decision) -> Duration {
    let Decision::Retry {
        wait, asked: true, ..
    } = decision
    else {
        panic!("{decision:?} is not a retry after a requested wait");
    };
    *wait
}

#[tokio::test]
async fn r2_a_requested_wait_of_zero_is_a_wait() {
    let busy = Act::Answer("503 Busy\r\nRetry-After: 0\r\n".to_owned(), String::new());
    let (_, decisions) = failed_get(busy).await;
    assert_eq!(decisions.len(), 3);
    for decision in &decisions[..2] {
        let wait = requested_wait_of(decision).as_millis();
        assert!((100..=120).contains(&wait), "{wait} ms");
    }
}

#[tokio::test]
async fn requested_waits_are_honoured() {
    let busy = |header: &str| Act::Answer(format!("503 Busy\r\n{header}\r\n"), String::new());
    let page = Act::Answer("200 OK\r\n".to_owned(), "{\"value\":[]}".to_owned());
    let (mut options, decisions) = quick();
    options.retry_after_min = Duration::ZERO;
    // The policy alone would wait for hours.
    options.retry = RetryPolicy::Fixed {
        retries: 3,
        wait: Duration::from_secs(7_200),
    };
    let script = [
        busy("Retry-After: 0"),
        busy("x-ms-retry-after-ms: 3"),
        busy("retry-after-ms: 2"),
        page,
    ];
    let faulty = FaultyServer::start(script, None).await;
    let found: Vec<Entity> = table(faulty.address, options)
        .query_entities(QueryOptions::new())
        .try_collect()
        .await
        .unwrap();
    assert!(found.is_empty());
    let decisions = decisions.all();
    for (decision, requested) in decisions.iter().zip([0, 3, 2]) {
        let wait = requested_wait_of(decision);
        let requested = Duration::from_millis(requested);
        assert!(
            requested <= wait && wait <= requested.mul_f64(1.2),
            "{wait:?}"
        );
    }
    assert_eq!(decisions[3..], [Decision::Done]);

    let (error, decisions) = failed_get(busy("Retry-After: 61")).await;
    assert_eq!(decisions, [Decision::GiveUp(GiveUp::AskedTooLong)]);
    assert_eq!(error.retry_after(), Some(Duration::from_secs(61)));
}

#[tokio::test]
async fn r4_every_combination_of_durations_is_valid() {
    // A requested wait of more than a year is refused.
    for (requested, is_refused) in [("0", false), ("18446744073709551615", true)] {
        let head = format!("503 Busy\r\nRetry-After: {requested}\r\n");
        let faulty = FaultyServer::start([Act::Answer(head, String::new())], None).await;
        let (mut options, decisions) = quick();
        options.retry = RetryPolicy::Fixed {
            retries: u32::MAX,
            wait: Duration::MAX,
        };
        options.retry_after_min = Duration::MAX;
        options.retry_after_max = Duration::MAX;
        options.attempt_timeout = Duration::MAX;
        options.connect_timeout = Duration::MAX;
        options.idle_timeout = Duration::MAX;
        options.first_connection_timeout = Some(Duration::MAX);
        let (sender, mut ended) = tokio::sync::mpsc::channel(8);
        options.observer = Some(Arc::new(Both(decisions.clone(), Ended(sender))));
        let table = table(faulty.address, options);
        tokio::select! {
            read = table.get_entity("p", "r") => assert!(is_refused, "{read:?}"),
            // The read has made an attempt, and waits for a year.
            _ = ended.recv() => {}
        }
        let decision = decisions.all()[0];
        assert_eq!(
            matches!(decision, Decision::Retry { .. }),
            !is_refused,
            "{decision:?}"
        );
    }
}

/// Two observers.
#[derive(Debug)]
struct Both(Arc<Decisions>, Ended);

impl RetryObserver for Both {
    fn attempt(&self, event: &AttemptEvent<'_>) {
        self.0.attempt(event);
        self.1.attempt(event);
    }
}

#[tokio::test]
async fn r7_a_timeout_of_the_operation_says_so() {
    let faulty = FaultyServer::start([Act::Hang], None).await;
    let (mut options, _) = quick();
    options.operation_timeout = Some(Duration::from_millis(50));
    let read = table(faulty.address, options).get_entity("p", "r").await;
    let text = read.unwrap_err().to_string();
    assert!(
        text.contains("the operation timeout of 50 ms ended"),
        "{text}"
    );
}

#[tokio::test]
async fn attempts_and_operations_time_out() {
    let page = Act::Answer("200 OK\r\n".to_owned(), "{\"value\":[]}".to_owned());
    let faulty = FaultyServer::start([Act::Hang, page], None).await;
    let (mut options, decisions) = quick();
    options.attempt_timeout = Duration::from_millis(500);
    table(faulty.address, options)
        .query_page(&QueryOptions::new(), None)
        .await
        .unwrap();
    assert_eq!(
        decisions.all(),
        [retry(RetryReason::TimedOut), Decision::Done]
    );

    let faulty = FaultyServer::start([Act::Hang], None).await;
    let (mut options, decisions) = quick();
    options.operation_timeout = Some(Duration::from_millis(50));
    let error = table(faulty.address, options)
        .create_entity(&entity())
        .await
        .unwrap_err();
    assert_eq!(
        (error.kind(), error.outcome()),
        (ErrorKind::TimedOut, Outcome::MayHaveHappened)
    );
    assert_eq!(decisions.all(), [Decision::GiveUp(GiveUp::OutOfTime)]);
}

#[tokio::test]
async fn the_longest_durations_do_not_overflow() {
    let faulty = FaultyServer::start([Act::AnswerAndStay, status(503)], None).await;
    let (mut options, decisions) = quick();
    options.retry = RetryPolicy::Fixed {
        retries: 2,
        wait: Duration::MAX,
    };
    options.attempt_timeout = Duration::MAX;
    options.connect_timeout = Duration::MAX;
    options.idle_timeout = Duration::MAX;
    options.operation_timeout = Some(Duration::MAX);
    let through = table(faulty.address, options);
    let query = QueryOptions::new();
    through.query_page(&query, None).await.unwrap();
    through.query_page(&query, None).await.unwrap_err();
    let given_up = Decision::GiveUp(GiveUp::OutOfTime);
    assert_eq!(decisions.all(), [Decision::Done, given_up]);
}
