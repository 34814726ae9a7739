//! A client of one server that writes a row again and again, and measures the longest time without an answer.

use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use partita_bench::client::Request;
use partita_bench::{Account, park_for};
use partita_load::Random;

use super::{Answer, Connection, TABLE, json, lock};

/// The pause between two writes, and so the resolution.
const PAUSE: Duration = Duration::from_millis(10);

/// The writes of one server.
#[derive(Debug)]
pub(in super::super) struct Probe {
    front: SocketAddr,
    row: String,
    seen: Mutex<Seen>,
}

#[derive(Debug)]
struct Seen {
    last: Instant,
    longest: Duration,
}

impl Probe {
    pub(in super::super) fn new(front: SocketAddr, number: usize) -> Self {
        Self {
            front,
            row: format!("probe{number}"),
            seen: Mutex::new(Seen {
                last: Instant::now(),
                longest: Duration::ZERO,
            }),
        }
    }

    /// Writes until `stop` is set.
    pub(in super::super) fn run(&self, account: &Account, stop: &AtomicBool) {
        let mut connection = Connection::new(&[self.front], account, Random::new(0));
        let path = format!("{TABLE}(PartitionKey='{}',RowKey='r')", self.row);
        let body = json(&self.row, "r", 0);
        while !stop.load(Ordering::Relaxed) {
            let answer = connection.send(&Request {
                content_type: "application/json",
                body: body.as_bytes(),
                ..Request::new("PUT", &path)
            });
            if matches!(answer, Answer::Got(answer) if answer.status == 204) {
                let mut seen = lock(&self.seen);
                seen.longest = seen.longest.max(seen.last.elapsed());
                seen.last = Instant::now();
            }
            park_for(PAUSE);
        }
    }

    /// Forgets the longest time.
    pub(in super::super) fn reset(&self) {
        let mut seen = lock(&self.seen);
        seen.longest = Duration::ZERO;
    }

    /// The longest time between two answers.
    pub(in super::super) fn longest(&self) -> Duration {
        lock(&self.seen).longest
    }

    /// Whether a write was answered since a moment.
    pub(in super::super) fn has_answered_since(&self, moment: Instant) -> bool {
        lock(&self.seen).last > moment
    }
}
