//! Splits and merges at random.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use partita_bench::{admin, park_for};
use partita_load::Random;

use crate::range_changes::RangeChanges;

/// How long the server may refuse all changes, because ranges still rewrite shared files.
pub(super) const REFUSED_MAX: Duration = Duration::from_secs(120);

/// Splits and merges, one after the other.
pub(super) struct Changes {
    admin: SocketAddr,
    random: Random,
    /// Maximum number of ranges; the minimum is half of it.
    pub(super) ranges_max: usize,
    pub(super) counts: RangeChanges,
    took: Duration,
    refused_since: Option<Instant>,
    pub(super) last_refusal: String,
}

impl Changes {
    pub(super) fn new(admin: SocketAddr, seed: u64, ranges_max: usize) -> Self {
        Self {
            admin,
            random: Random::new(seed),
            ranges_max,
            counts: RangeChanges::default(),
            took: Duration::ZERO,
            refused_since: None,
            last_refusal: String::new(),
        }
    }

    /// Whether the server has refused all changes for too long.
    pub(super) fn are_stuck(&self) -> bool {
        self.refused_since
            .is_some_and(|since| since.elapsed() > REFUSED_MAX)
    }

    /// Splits the store into as many ranges as allowed, and waits until they have rewritten shared files. Does not
    /// count these splits.
    pub(super) fn split_store(&mut self) -> anyhow::Result<()> {
        loop {
            let ranges = admin::ranges(self.admin)?.ranges;
            if ranges.len() >= self.ranges_max {
                break;
            }
            let largest = ranges.iter().max_by_key(|range| range.bytes);
            self.change(largest.context("there are no ranges")?.id, "split")?;
            ensure!(
                !self.are_stuck(),
                "ranges cannot be split: {}",
                self.last_refusal
            );
        }
        admin::await_rewriting(self.admin)?;
        self.counts = RangeChanges::default();
        Ok(())
    }

    /// Makes `count` changes, or fewer if the server refuses all changes for too long.
    pub(super) fn make(&mut self, count: u64) -> anyhow::Result<()> {
        let began = Instant::now();
        while self.counts.done() < count && !self.are_stuck() {
            let before = self.counts.done();
            self.make_one()?;
            let done = self.counts.done();
            if done > before && done.is_multiple_of(20) {
                let seconds = began.elapsed().as_secs();
                eprintln!("latency-under-change: {done} changes after {seconds} s");
            }
        }
        self.took = began.elapsed();
        Ok(())
    }

    /// Tries to split or merge a random range.
    fn make_one(&mut self) -> anyhow::Result<()> {
        let ranges = admin::ranges(self.admin)?.ranges;
        let index = self.random.below(ranges.len() as u64) as usize;
        let range = ranges.get(index).context("there are no ranges")?;
        let is_split = match ranges.len() {
            count if count <= self.ranges_max / 2 => true,
            count if count >= self.ranges_max => false,
            _ => self.random.below(2) == 0,
        };
        self.change(range.id, if is_split { "split" } else { "merge" })
    }

    fn change(&mut self, range: u64, action: &str) -> anyhow::Result<()> {
        let (status, answer) = admin::act(self.admin, range, action, "")?;
        ensure!(
            self.counts.count(action, status, &answer),
            "{action} of range {range}: {status} {answer}"
        );
        match status {
            200 => self.refused_since = None,
            404 | 409 => {
                self.last_refusal = answer.to_string();
                self.refused_since.get_or_insert_with(Instant::now);
                park_for(Duration::from_millis(50));
            }
            _ => {}
        }
        Ok(())
    }

    pub(super) fn print(&self) {
        let [p50, p99, max] = self.counts.waits_ms();
        println!(
            "{} in {:.0} s; writes waited for one p50 {p50:.0}, p99 {p99:.0}, at most {max:.0} ms",
            self.counts,
            self.took.as_secs_f64(),
        );
    }
}
