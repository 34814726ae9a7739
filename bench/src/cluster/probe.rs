//! A client of one server that writes a row again and again, and measures the longest time without an answer.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use partita_load::Random;

use super::connection::{Answer, Connection};
use crate::client::Request;
use crate::{Account, park_for};

/// The writes of one server.
#[derive(Debug)]
pub struct Probe {
    front: SocketAddr,
    path: String,
    body: String,
    /// The pause between two writes, and so the resolution.
    pause: Duration,
    seen: Mutex<Seen>,
}

#[derive(Debug)]
struct Seen {
    last: Instant,
    longest: Duration,
}

impl Probe {
    /// A client of `front` that puts `body` at `path` and pauses after each answer.
    pub fn new(front: SocketAddr, path: String, body: String, pause: Duration) -> Self {
        Self {
            front,
            path,
            body,
            pause,
            seen: Mutex::new(Seen {
                last: Instant::now(),
                longest: Duration::ZERO,
            }),
        }
    }

    /// Writes until `stop` is set.
    pub fn run(&self, account: &Account, stop: &AtomicBool) {
        let mut connection = Connection::new(&[self.front], account, Random::new(0));
        while !stop.load(Ordering::Relaxed) {
            let answer = connection.send(&Request {
                content_type: "application/json",
                body: self.body.as_bytes(),
                ..Request::new("PUT", &self.path)
            });
            if matches!(answer, Answer::Got(answer) if answer.status == 204) {
                let mut seen = self.seen();
                seen.longest = seen.longest.max(seen.last.elapsed());
                seen.last = Instant::now();
            }
            park_for(self.pause);
        }
    }

    /// Forgets the longest time.
    pub fn reset(&self) {
        let mut seen = self.seen();
        seen.longest = Duration::ZERO;
    }

    /// The longest time between two answers.
    pub fn longest(&self) -> Duration {
        self.seen().longest
    }

    /// Whether a write was answered since a moment.
    pub fn has_answered_since(&self, moment: Instant) -> bool {
        self.seen().last > moment
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
