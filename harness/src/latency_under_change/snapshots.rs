//! Creates snapshots, one after the other, and measures them.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::Context;
use partita_bench::{admin, park_for};
use partita_load::LatencyHistogram;

/// Time between two snapshots.
const REST: Duration = Duration::from_secs(1);

/// Durations of the snapshots.
#[derive(Default)]
pub(super) struct Snapshots {
    /// Time of each call.
    calls: LatencyHistogram,
    /// How long each call paused all writes.
    pauses: LatencyHistogram,
}

impl Snapshots {
    /// Creates `count` snapshots, and deletes each after creating the next.
    pub(super) fn make(&mut self, admin: SocketAddr, count: usize) -> anyhow::Result<()> {
        for number in 0..count {
            park_for(REST);
            let began = Instant::now();
            let created = admin::act_on_snapshot(admin, &name(number), "create")?;
            self.calls.record(began.elapsed());
            let pause_ms = created["pause_ms"]
                .as_f64()
                .context("the answer of the admin port has no pause_ms")?;
            self.pauses.record_ms(pause_ms);
            if let Some(before) = number.checked_sub(1) {
                admin::act_on_snapshot(admin, &name(before), "delete")?;
            }
        }
        Ok(())
    }

    pub(super) fn print(&self) {
        println!(
            "{} snapshots: created in p50 {:.0}, at most {:.0} ms; all writes paused p50 {:.1}, at most {:.1} ms",
            self.calls.count(),
            self.calls.quantile_ms(0.5),
            self.calls.quantile_ms(1.0),
            self.pauses.quantile_ms(0.5),
            self.pauses.quantile_ms(1.0),
        );
    }
}

fn name(number: usize) -> String {
    format!("latency-{number}")
}
