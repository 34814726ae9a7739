//! A client of one server that writes a row again and again, and measures the longest time without an answer. The
//! Timestamps of the row, which are in its ETags, must increase.

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
    /// The ETag of the last answer.
    etag: String,
    /// Two answers whose ETags do not increase.
    went_back: Option<String>,
}

impl Seen {
    fn answered(&mut self, etag: &str) {
        self.longest = self.longest.max(self.last.elapsed());
        self.last = Instant::now();
        if time(etag) <= time(&self.etag) && self.went_back.is_none() {
            self.went_back = Some(format!("the ETag {etag} follows {}", self.etag));
        }
        etag.clone_into(&mut self.etag);
    }
}

/// The time in an ETag, as text that sorts as the time does: without the zone after the fraction.
fn time(etag: &str) -> &str {
    etag.trim_end_matches(['"', '\'', 'Z'])
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
                etag: String::new(),
                went_back: None,
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
            if let Answer::Got(answer) = answer
                && answer.status == 204
            {
                let etag = answer.header("etag").unwrap_or_default();
                self.seen().answered(etag);
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

    /// Two successive answers with Timestamps that do not increase.
    pub fn went_back(&self) -> Option<String> {
        self.seen().went_back.clone()
    }

    /// Whether a write was answered since a moment.
    pub fn has_answered_since(&self, moment: Instant) -> bool {
        self.seen().last > moment
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_timestamp_is_noticed() {
        let addr = SocketAddr::from(([127, 0, 0, 1], 1));
        let probe = Probe::new(addr, String::new(), String::new(), Duration::ZERO);
        let etag = |fraction: &str| format!("W/\"datetime'2026-11-27T04%3A25%3A01.{fraction}Z'\"");
        for fraction in ["1", "12", "1200001", "2"] {
            probe.seen().answered(&etag(fraction));
            assert_eq!(probe.went_back(), None, "{fraction}");
        }
        probe.seen().answered(&etag("1999999"));
        let went_back = probe.went_back().unwrap();
        assert!(
            went_back.contains("1999999") && went_back.contains("01.2Z"),
            "{went_back}"
        );
    }
}
