//! The figures of a measurement of queues.

use serde::Serialize;

use super::QueueLoad;
use super::workload::QueueWorkload;
use crate::options::TargetKind;

/// One measurement of one server.
#[derive(Clone, Debug, Serialize)]
pub struct QueueFigures {
    /// The server's name.
    pub target: String,
    /// The workload's name.
    pub workload: &'static str,
    /// Connections, each with one request under way.
    pub connections: usize,
    /// Turns a second: requests, or pairs of get and delete, or messages that were put, received and deleted.
    pub turns_per_s: f64,
    /// Median latency of a request, milliseconds.
    pub p50_ms: f64,
    /// 99th percentile of the latency of a request, milliseconds.
    pub p99_ms: f64,
    /// Processor time of the server for each turn, microseconds.
    pub server_cpu_us: f64,
    /// Processor time of the driver for each turn, microseconds.
    pub driver_cpu_us: f64,
    /// Memory of the server at the end, MiB.
    pub rss_mib: f64,
}

impl QueueFigures {
    pub(super) fn new(
        target: TargetKind,
        workload: QueueWorkload,
        connections: usize,
        load: &QueueLoad,
        rss_mib: f64,
    ) -> Self {
        let turns = (load.turns as f64).max(1.0);
        Self {
            target: target.name(),
            workload: workload.name(),
            connections,
            turns_per_s: load.turns as f64 / load.elapsed_s,
            p50_ms: load.latency.quantile_ms(0.5),
            p99_ms: load.latency.quantile_ms(0.99),
            server_cpu_us: load.server_cpu_s * 1e6 / turns,
            driver_cpu_us: load.driver_cpu_s * 1e6 / turns,
            rss_mib,
        }
    }

    /// The figures as one line of text.
    #[must_use]
    pub fn line(&self) -> String {
        format!(
            "{:<12} {:<8} {:>3} conns {:>9.0} /s  p50 {:>7.3}  p99 {:>8.3} ms  \
             cpu {:>7.1} us (driver {:>5.1})  rss {:>5.0} MiB",
            self.workload,
            self.target,
            self.connections,
            self.turns_per_s,
            self.p50_ms,
            self.p99_ms,
            self.server_cpu_us,
            self.driver_cpu_us,
            self.rss_mib,
        )
    }
}
