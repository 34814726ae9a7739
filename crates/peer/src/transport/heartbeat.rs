//! Pings that find a dead peer.

use std::time::Duration;

use h2::{Ping, PingPong};
use tokio::time::{sleep, timeout};

/// Pings the peer again and again while `is_needed`. Returns when the peer is dead: it did not answer within
/// `patience`, or the connection has ended.
pub(super) async fn heartbeat(
    pings: Option<PingPong>,
    every: Duration,
    patience: Duration,
    is_needed: impl Fn() -> bool,
) {
    let Some(mut pings) = pings else {
        return std::future::pending().await;
    };
    loop {
        sleep(every).await;
        if !is_needed() {
            continue;
        }
        let answered = timeout(patience, pings.ping(Ping::opaque())).await;
        if !matches!(answered, Ok(Ok(_))) {
            return;
        }
    }
}
