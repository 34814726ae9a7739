use std::sync::Arc;
use std::time::{Duration, SystemTime};

use partita_rt::ManualClock;

use super::*;

const TIMING: Timing = Timing {
    ttl: Duration::from_secs(2),
};
const PATIENCE: Duration = Duration::from_secs(60);

fn gate() -> (ManualClock, Gate) {
    let clock = ManualClock::new(SystemTime::UNIX_EPOCH);
    let gate = Gate::new(Arc::new(clock.clone()));
    (clock, gate)
}

#[test]
fn the_gate_counts_from_the_sending_and_closes_a_margin_early() {
    let (clock, gate) = gate();
    assert!(!gate.is_open(), "no keepalive was answered");
    let sent = gate.sent();
    clock.advance(Duration::from_millis(900));
    gate.answered(sent, TIMING);
    // 2 s − 2 % − 20 ms = 1.94 s after the sending.
    assert_eq!(gate.open_for(), Duration::from_millis(1040));
    clock.advance(Duration::from_millis(1039));
    assert!(gate.is_open());
    clock.advance(Duration::from_millis(1));
    assert!(!gate.is_open());
}

#[test]
fn an_old_answer_does_not_close_the_gate_earlier() {
    let (clock, gate) = gate();
    let first = gate.sent();
    clock.advance(Duration::from_secs(1));
    let second = gate.sent();
    gate.answered(second, TIMING);
    gate.answered(first, TIMING);
    assert_eq!(gate.open_for(), TIMING.open_for());
}

#[test]
fn the_gate_of_an_ended_life_never_opens() {
    let (_, gate) = gate();
    let sent = gate.sent();
    gate.end();
    gate.answered(sent, TIMING);
    assert!(!gate.is_open() && gate.is_over());
}

#[tokio::test(start_paused = true)]
async fn a_closed_gate_is_waited_for() {
    let (_, gate) = gate();
    assert!(!gate.opened(Duration::from_secs(2)).await);
    let waiting = gate.clone();
    let opening = async {
        let sent = gate.sent();
        gate.answered(sent, TIMING);
    };
    let (opened, ()) = tokio::join!(waiting.opened(PATIENCE), opening);
    assert!(opened);
}

/// A keepalive that was under way when the read began proves nothing.
#[tokio::test(start_paused = true)]
async fn a_read_is_confirmed_by_a_keepalive_that_was_sent_after_it_began() {
    let (_, gate) = gate();
    let under_way = gate.sent();
    let reads = (gate.clone(), gate.clone());
    let mut confirmed = std::pin::pin!(async {
        tokio::join!(reads.0.confirm(PATIENCE), reads.1.confirm(PATIENCE))
    });
    assert!(futures::poll!(&mut confirmed).is_pending());
    let wanted = tokio::time::timeout(PATIENCE, gate.wanted()).await;
    wanted.expect("no keepalive is wanted");
    gate.answered(under_way, TIMING);
    assert!(futures::poll!(&mut confirmed).is_pending());
    let next = gate.sent();
    gate.answered(next, TIMING);
    assert_eq!(confirmed.await, (true, true), "both share one keepalive");
    assert!(!gate.confirm(Duration::from_secs(1)).await);
}

#[tokio::test(start_paused = true)]
async fn no_read_is_confirmed_after_the_life_is_over() {
    let (_, gate) = gate();
    let read = gate.clone();
    let (confirmed, ()) = tokio::join!(read.confirm(PATIENCE), async { gate.end() });
    assert!(!confirmed && gate.is_over());
}
