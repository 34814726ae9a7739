//! Splits and merges at random.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use partita_bench::{admin, park_for};
use partita_load::{LatencyHistogram, Random};

/// How long changes may be refused one after the other, because ranges still rewrite what they share, before no more are tried.
pub(super) const REFUSED_MAX: Duration = Duration::from_secs(120);

/// Splits and merges, one after the other.
pub(super) struct Changes {
    admin: SocketAddr,
    random: Random,
    /// As many ranges at most; at least half of that.
    pub(super) ranges_max: usize,
    splits: u64,
    merges: u64,
    /// How long writes waited for each of them.
    waits: LatencyHistogram,
    refused: u64,
    undone: u64,
    pub(super) took: Duration,
    refused_since: Option<Instant>,
    pub(super) last_refusal: String,
}

impl Changes {
    pub(super) fn new(admin: SocketAddr, seed: u64, ranges_max: usize) -> Self {
        Self {
            admin,
            random: Random::new(seed),
            ranges_max,
            splits: 0,
            merges: 0,
            waits: LatencyHistogram::default(),
            refused: 0,
            undone: 0,
            took: Duration::ZERO,
            refused_since: None,
            last_refusal: String::new(),
        }
    }

    /// What was done until now does not count.
    pub(super) fn forget(&mut self) {
        (self.splits, self.merges, self.refused, self.undone) = (0, 0, 0, 0);
        self.waits = LatencyHistogram::default();
    }

    pub(super) fn done(&self) -> u64 {
        self.splits + self.merges
    }

    /// Whether none has been made for long.
    pub(super) fn are_stuck(&self) -> bool {
        self.refused_since
            .is_some_and(|since| since.elapsed() > REFUSED_MAX)
    }

    /// Tries a split that leaves the ranges more alike.
    pub(super) fn split_largest(&mut self) -> anyhow::Result<()> {
        let ranges = admin::ranges(self.admin)?.ranges;
        let largest = ranges.iter().max_by_key(|range| range.bytes);
        self.change(largest.context("there are no ranges")?.id, true)
    }

    /// Tries a change of some range.
    pub(super) fn one(&mut self) -> anyhow::Result<()> {
        let ranges = admin::ranges(self.admin)?.ranges;
        let index = self.random.below(ranges.len() as u64) as usize;
        let range = ranges.get(index).context("there are no ranges")?;
        let split = match ranges.len() {
            count if count <= self.ranges_max / 2 => true,
            count if count >= self.ranges_max => false,
            _ => self.random.below(2) == 0,
        };
        self.change(range.id, split)
    }

    fn change(&mut self, range: u64, split: bool) -> anyhow::Result<()> {
        let action = if split { "split" } else { "merge" };
        let (status, answer) = admin::act(self.admin, range, action, "")?;
        match status {
            200 => {
                let count = match split {
                    true => &mut self.splits,
                    false => &mut self.merges,
                };
                *count += 1;
                let wait_ms = answer["transit_ms"].as_f64().context("no transit_ms")?;
                self.waits.record_ms(wait_ms);
                self.refused_since = None;
            }
            // Nothing to cut, no neighbour, or too many files shared just now.
            404 | 409 => {
                self.refused += 1;
                self.last_refusal = answer.to_string();
                self.refused_since.get_or_insert_with(Instant::now);
                park_for(Duration::from_millis(50));
            }
            503 => {
                eprintln!("pauses: {action} of range {range}: {answer}");
                self.undone += 1;
            }
            _ => bail!("{action} of range {range}: {status} {answer}"),
        }
        Ok(())
    }

    /// How long writes waited for a change, at a quantile.
    pub(super) fn wait_ms(&self, at: f64) -> f64 {
        self.waits.quantile_ms(at)
    }

    pub(super) fn print(&self) {
        println!(
            "{} splits and {} merges in {:.0} s ({} were refused, {} undone); writes waited for one p50 {:.0}, p99 {:.0}, at most {:.0} ms",
            self.splits,
            self.merges,
            self.took.as_secs_f64(),
            self.refused,
            self.undone,
            self.wait_ms(0.5),
            self.wait_ms(0.99),
            self.wait_ms(1.0),
        );
    }
}
