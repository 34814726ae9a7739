//! Snapshots, one after the other.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use partita_bench::{admin, park_for};
use partita_load::LatencyHistogram;

/// Between two of them.
const REST: Duration = Duration::from_secs(1);

/// What each snapshot took.
#[derive(Default)]
pub(super) struct Snapshots {
    /// How long each call took.
    calls: LatencyHistogram,
    /// How long each paused all writes.
    pauses: LatencyHistogram,
}

impl Snapshots {
    /// Takes as many, and deletes each once the next is there.
    pub(super) fn take(&mut self, admin: SocketAddr, count: usize) -> anyhow::Result<()> {
        for number in 0..count {
            park_for(REST);
            let started = Instant::now();
            let (status, answer) =
                admin::act_on_snapshot(admin, &format!("pause-{number}"), "create")?;
            ensure!(status == 200, "a snapshot was refused: {status} {answer}");
            self.calls.record(started.elapsed());
            let pause_ms = answer["pause_ms"].as_f64().context("no pause_ms")?;
            self.pauses.record_ms(pause_ms);
            if let Some(before) = number.checked_sub(1) {
                let (status, answer) =
                    admin::act_on_snapshot(admin, &format!("pause-{before}"), "delete")?;
                ensure!(status == 200, "a snapshot stays: {status} {answer}");
            }
        }
        Ok(())
    }

    pub(super) fn print(&self) {
        println!(
            "{} snapshots: taken in p50 {:.0}, at most {:.0} ms; all writes paused p50 {:.1}, at most {:.1} ms",
            self.calls.count(),
            self.calls.quantile_ms(0.5),
            self.calls.quantile_ms(1.0),
            self.pauses.quantile_ms(0.5),
            self.pauses.quantile_ms(1.0),
        );
    }
}
