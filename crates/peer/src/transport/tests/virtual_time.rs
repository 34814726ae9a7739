use std::sync::atomic::Ordering;

use tokio::time::{Instant, sleep};

use super::wire::Wire;
use super::*;

async fn on_wire() -> (Pair, Arc<Wire>) {
    let wire = Arc::new(Wire::default());
    let network: Arc<dyn Network> = Arc::clone(&wire) as _;
    (
        Pair::on(network, Settings::default(), Settings::default()).await,
        wire,
    )
}

#[tokio::test(start_paused = true)]
async fn requests_of_a_dead_peer_are_given_up_within_a_second() {
    let (pair, wire) = on_wire().await;
    let sending = pair.send("wait");
    pair.handler.wait_for(b"wait").await;
    let began = Instant::now();
    wire.is_frozen.store(true, Ordering::Relaxed);
    let given_up = sending.await.unwrap();
    assert!(is_unknown(&given_up), "{given_up:?}");
    assert!(
        began.elapsed() < Duration::from_secs(1),
        "{:?}",
        began.elapsed()
    );
}

/// A peer that reads nothing: the request stays in the buffers of this side.
#[tokio::test(start_paused = true)]
async fn a_peer_that_stops_reading_is_given_up() {
    let (pair, wire) = on_wire().await;
    pair.send("first").await.unwrap().unwrap();
    wire.is_frozen.store(true, Ordering::Relaxed);
    let body = Bytes::from(vec![1; 8 << 20]);
    let given_up = pair.peer().send(Class::Small, b"second", body).await;
    assert!(is_unknown(&given_up), "{given_up:?}");
    assert_eq!(pair.handler.times_seen(b"second"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_does_not_answer_the_handshake_is_not_sent_anything() {
    let (pair, wire) = on_wire().await;
    wire.is_frozen.store(true, Ordering::Relaxed);
    let began = Instant::now();
    let failed = pair.send("request").await.unwrap();
    assert!(is_not_processed(&failed), "{failed:?}");
    assert_eq!(began.elapsed(), Settings::default().connect_timeout);
}

/// The server drops the requests of a client that has died without a word.
#[tokio::test(start_paused = true)]
async fn a_server_finds_a_dead_client() {
    let (pair, wire) = on_wire().await;
    let sending = pair.send("wait");
    pair.handler.wait_for(b"wait").await;
    wire.is_frozen.store(true, Ordering::Relaxed);
    pair.handler.wait_for_dropped(1).await;
    assert!(is_unknown(&sending.await.unwrap()));
}

/// Slow is not dead: a handler that takes minutes answers.
#[tokio::test(start_paused = true)]
async fn a_slow_answer_is_awaited() {
    let (pair, _) = on_wire().await;
    let sending = pair.send("wait");
    sleep(Duration::from_secs(600)).await;
    pair.handler.may_answer.0.add_permits(1);
    assert!(sending.await.unwrap().is_ok());
}

#[tokio::test(start_paused = true)]
async fn an_unused_connection_is_closed_after_a_minute() {
    let (pair, wire) = on_wire().await;
    let ends = || wire.open_ends.load(Ordering::Relaxed);
    for _ in 0..3 {
        pair.send("request").await.unwrap().unwrap();
        sleep(Duration::from_secs(59)).await;
        assert_eq!(ends(), 2, "used within the minute");
    }
    assert_eq!(wire.opened.load(Ordering::Relaxed), 1);
    sleep(Duration::from_secs(2)).await;
    assert_eq!(ends(), 0);
    pair.send("request").await.unwrap().unwrap();
    assert_eq!(wire.opened.load(Ordering::Relaxed), 2);
}

#[tokio::test(start_paused = true)]
async fn a_connection_with_a_request_is_not_idle() {
    let (pair, wire) = on_wire().await;
    let sending = pair.send("wait");
    sleep(Duration::from_secs(200)).await;
    pair.handler.may_answer.0.add_permits(1);
    assert!(sending.await.unwrap().is_ok());
    assert_eq!(wire.opened.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn requests_that_need_a_connection_share_its_opening() {
    let (pair, wire) = on_wire().await;
    let sending: Vec<_> = (0..10).map(|_| pair.send("request")).collect();
    for sent in sending {
        sent.await.unwrap().unwrap();
    }
    assert_eq!(wire.opened.load(Ordering::Relaxed), 1);
}
