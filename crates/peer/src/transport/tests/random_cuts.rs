//! A thousand requests over connections that are cut at random points. What the handler has seen proves each error.

use futures::StreamExt as _;
use futures::stream;

use super::proxy::Proxy;
use super::*;

const REQUESTS: usize = 1000;
const AT_ONCE: usize = 16;

#[tokio::test(flavor = "multi_thread")]
async fn every_error_says_truly_whether_the_request_was_processed() {
    let mut pair = Pair::start(patient()).await;
    // A handshake takes about 3,000 bytes, a request and its answer 200 to 12,000.
    let budgets = Box::new(|| {
        let random = partita_rt::random::u64() as usize;
        let max = if random.is_multiple_of(4) {
            4_000
        } else {
            100_000
        };
        random / 4 % max
    });
    let proxy = Proxy::start(pair.address.clone(), budgets, &pair.client_tasks).await;
    pair.address = proxy.address.clone();
    let peer = pair.peer();

    let sending = stream::iter(0..REQUESTS).map(|number| {
        let peer = &peer;
        async move {
            let head = match number % 8 {
                0 => format!("refuse {number}"),
                _ => format!("request {number}"),
            };
            // Bodies of 4 KiB and more take several frames.
            let body = Bytes::from(vec![1; [0, 100, 1000, 6000][number % 4]]);
            let result = peer.send(Class::Small, head.as_bytes(), body).await;
            (head, result)
        }
    });
    let results: Vec<_> = sending.buffer_unordered(AT_ONCE).collect().await;
    // Nothing arrives later: all connections are closed, and the server has ended.
    proxy.cut();
    let unfinished = pair.server_tasks.drain(Duration::from_secs(60)).await;
    assert_eq!(unfinished, Vec::<&str>::new());

    let (mut answered, mut not_processed, mut unknown) = (0, 0, 0);
    for (head, result) in &results {
        let seen = pair.handler.times_seen(head.as_bytes());
        assert!(seen <= 1, "{head} was processed {seen} times");
        match result {
            Ok(_) => {
                assert_eq!(seen, 1, "{head} was answered but not processed");
                answered += 1;
            }
            Err(SendError::NotProcessed(NotProcessed::Refused)) => {
                assert!(head.starts_with("refuse"))
            }
            Err(SendError::NotProcessed(reason)) => {
                assert_eq!(seen, 0, "{head} was processed: {reason}");
                not_processed += 1;
            }
            Err(SendError::Unknown(_)) => unknown += 1,
        }
    }
    // Each kind has happened, else the test shows nothing.
    let counts = format!("{answered} answered, {not_processed} not processed, {unknown} unknown");
    assert!(
        answered > 100 && not_processed > 10 && unknown > 10,
        "{counts}"
    );
}
