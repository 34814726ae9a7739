//! The figures of a comparison, and their tables.

use std::fmt::Write;

use partita_load::thousands;
use serde::Serialize;

use crate::options::TargetKind;
use crate::{LoadResult, WorkloadKind};

/// One measurement of one server.
#[derive(Clone, Debug, Serialize)]
pub struct Measurement {
    /// The server's name.
    pub target: String,
    /// The workload's name.
    pub workload: String,
    /// Connections, each with one request under way.
    pub connections: usize,
    /// Correct answers while measuring.
    pub requests: u64,
    /// Correct answers a second.
    pub requests_per_s: f64,
    /// Correct answers a second of each run, in order; this measurement is their median.
    pub runs_requests_per_s: Vec<f64>,
    /// Entities written or read a second.
    pub entities_per_s: f64,
    /// Median latency, milliseconds.
    pub p50_ms: f64,
    /// 99th percentile of the latency, milliseconds.
    pub p99_ms: f64,
    /// Processor time of the server for each request, microseconds.
    pub server_cpu_us: f64,
    /// Processor time of the driver for each request, microseconds.
    pub driver_cpu_us: f64,
    /// Memory of the server at the end, MiB.
    pub rss_mib: f64,
    /// Mean size of an answer's body, in bytes.
    pub body_bytes: f64,
    /// Wrong answers, broken connections and requests refused with 503.
    pub errors: u64,
    /// The first error.
    pub first_error: Option<String>,
    #[serde(skip)]
    kind: WorkloadKind,
}

impl Measurement {
    /// Figures of one run; `cpu_s` is the server's processor time while measuring, seconds.
    pub(crate) fn new(
        target: TargetKind,
        kind: WorkloadKind,
        connections: usize,
        result: &LoadResult,
        cpu_s: f64,
        rss_mib: f64,
    ) -> Self {
        let requests = (result.requests as f64).max(1.0);
        let ms = |quantile| result.latency.quantile_ms(quantile);
        Self {
            target: target.name(),
            workload: kind.name(),
            connections,
            requests: result.requests,
            requests_per_s: result.requests_per_s(),
            runs_requests_per_s: vec![result.requests_per_s()],
            entities_per_s: result.requests_per_s() * kind.entities() as f64,
            p50_ms: ms(0.5),
            p99_ms: ms(0.99),
            server_cpu_us: cpu_s * 1e6 / requests,
            driver_cpu_us: result.driver_cpu_s * 1e6 / requests,
            rss_mib,
            body_bytes: result.body_bytes as f64 / requests,
            errors: result.errors + result.refusals(),
            first_error: result.first_error.clone().or_else(|| {
                let reason = result.refused.keys().next();
                reason.map(|reason| format!("refused, {reason}"))
            }),
            kind,
        }
    }

    /// The measurement of median throughput; `None` without measurements.
    pub(crate) fn median(mut runs: Vec<Self>) -> Option<Self> {
        let every = runs.iter().map(|run| run.requests_per_s).collect();
        runs.sort_by(|a, b| a.requests_per_s.total_cmp(&b.requests_per_s));
        let middle = runs.len() / 2;
        (middle < runs.len()).then(|| Self {
            runs_requests_per_s: every,
            ..runs.swap_remove(middle)
        })
    }

    /// The ratio of throughputs. For servers that took turns, it is the median of the ratios of each turn, because the
    /// speed of a shared machine changes from minute to minute.
    fn ratio(&self, other: &Self) -> f64 {
        let (ours, theirs) = (&self.runs_requests_per_s, &other.runs_requests_per_s);
        if ours.len() != theirs.len() {
            return self.requests_per_s / other.requests_per_s;
        }
        let turns = ours.iter().zip(theirs);
        let mut ratios: Vec<f64> = turns.map(|(ours, theirs)| ours / theirs).collect();
        ratios.sort_by(f64::total_cmp);
        let lower = ratios.get((ratios.len().saturating_sub(1)) / 2);
        let upper = ratios.get(ratios.len() / 2);
        lower
            .zip(upper)
            .map_or(f64::NAN, |(lower, upper)| f64::midpoint(*lower, *upper))
    }

    /// The main figures as one line of text.
    pub fn line(&self) -> String {
        let mut line = format!(
            "{:<12} {:<8} {:>3} conns {:>9.0} req/s {:>10.0} ent/s  p50 {:>7.3}  p99 {:>8.3} ms  \
             cpu {:>7.1} us (driver {:>5.1})  rss {:>5.0} MiB",
            self.workload,
            self.target,
            self.connections,
            self.requests_per_s,
            self.entities_per_s,
            self.p50_ms,
            self.p99_ms,
            self.server_cpu_us,
            self.driver_cpu_us,
            self.rss_mib,
        );
        if let Some(error) = &self.first_error {
            let error: String = error.chars().take(300).collect();
            write!(line, "  {} ERRORS, first: {error}", self.errors)
                .expect("writing to a string cannot fail");
        }
        line
    }
}

/// All figures of one comparison, and the machine.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Processor, cores and memory.
    pub machine: String,
    /// The date of the comparison.
    pub date: String,
    /// The figures, by workload, connections and server.
    pub measurements: Vec<Measurement>,
}

impl Report {
    pub(crate) fn new(measurements: Vec<Measurement>) -> Self {
        Self {
            machine: machine(),
            date: crate::rfc1123_now(),
            measurements,
        }
    }

    /// Partita's throughput divided by that of another server, for one workload and number of connections.
    fn ratio(&self, ours: &Measurement, target: TargetKind) -> Option<f64> {
        self.measurements
            .iter()
            .find(|other| {
                other.target == target.name()
                    && other.workload == ours.workload
                    && other.connections == ours.connections
            })
            .filter(|other| other.requests > 0)
            .map(|other| ours.ratio(other))
    }

    /// Every figure as an aligned table, with the ratios of Partita to the other servers.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n{}\n\n", self.machine, self.date);
        for measurement in &self.measurements {
            text += &measurement.line();
            if measurement.target == TargetKind::Partita.name() {
                for of in [
                    TargetKind::Bare,
                    TargetKind::Payload,
                    TargetKind::PayloadLog,
                    TargetKind::Before,
                ] {
                    if let Some(ratio) = self.ratio(measurement, of) {
                        text += &format!("  {:.0} % of {}", ratio * 100.0, of.name());
                    }
                }
                if let Some(ratio) = self.ratio(measurement, TargetKind::Azurite) {
                    text += &format!("  {ratio:.1} x azurite");
                }
            }
            if measurement.target == TargetKind::Split.name()
                && let Some(ratio) = self.ratio(measurement, TargetKind::Partita)
            {
                text += &format!("  {:.0} % of one range", ratio * 100.0);
            }
            text.push('\n');
        }
        text
    }

    /// Partita's figures and the ratios as a Markdown table, for the documents.
    pub fn markdown(&self) -> String {
        let mut text = format!(
            "Measured on {} ({}); the driver shares the cores with the server.\n\n\
             | workload | connections | requests/s | entities/s | p50 ms | p99 ms | CPU µs/request | RSS MiB | \
             of bare hyper | of its ceiling | Azurite 3.37 |\n\
             | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
            self.machine, self.date
        );
        let ours = TargetKind::Partita.name();
        for row in self.measurements.iter().filter(|row| row.target == ours) {
            let share = |of: Option<TargetKind>| {
                let ratio = of.and_then(|of| self.ratio(row, of));
                ratio.map_or_else(|| "–".to_owned(), |ratio| format!("{:.0} %", ratio * 100.0))
            };
            let bare = share(Some(TargetKind::Bare));
            let ceiling = share(TargetKind::ceiling_of(row.kind));
            let azurite = self
                .ratio(row, TargetKind::Azurite)
                .map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.0} ×"));
            text += &format!(
                "| {} | {} | {} | {} | {:.2} | {:.2} | {:.0} | {:.0} | {bare} | {ceiling} | {azurite} |\n",
                row.kind.title(),
                row.connections,
                thousands(row.requests_per_s.round()),
                thousands(row.entities_per_s.round()),
                row.p50_ms,
                row.p99_ms,
                row.server_cpu_us,
                row.rss_mib,
            );
        }
        text
    }

    /// Everything as JSON.
    ///
    /// # Errors
    /// Never for these types.
    pub fn json(&self) -> anyhow::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }
}

/// The machine in a few words.
pub(crate) fn machine() -> String {
    let field = |path: &str, name: &str| {
        std::fs::read_to_string(path).ok().and_then(|text| {
            let line = text.lines().find(|line| line.starts_with(name))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        })
    };
    let cpu =
        field("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown processor".to_owned());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let memory_gib = field("/proc/meminfo", "MemTotal")
        .and_then(|text| text.split(' ').next()?.parse::<f64>().ok())
        .map_or(0.0, |kib| kib / 1_048_576.0);
    format!("{cores} cores of {cpu}, {memory_gib:.0} GiB")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measurement(target: TargetKind, requests: u64) -> Measurement {
        let result = LoadResult {
            requests,
            elapsed_s: 2.0,
            ..LoadResult::default()
        };
        Measurement::new(target, WorkloadKind::Batch, 64, &result, 1.0, 50.0)
    }

    #[test]
    fn median_is_the_middle_run() {
        let runs = [30, 10, 20].map(|requests| measurement(TargetKind::Bare, requests));
        let median = Measurement::median(runs.to_vec()).unwrap();
        assert!((median.requests_per_s - 10.0).abs() < 1e-9);
        assert!(Measurement::median(Vec::new()).is_none());
    }

    #[test]
    fn servers_that_took_turns_are_compared_turn_by_turn() {
        let runs = |target, requests: &[u64]| {
            let runs = requests
                .iter()
                .map(|&requests| measurement(target, requests));
            Measurement::median(runs.collect()).unwrap()
        };
        // The speed differs between turns. The ratio is 0.9 in two of the three turns, so the median of the ratios is
        // 0.9. The ratio of the medians, 450 to 800, is not.
        let ours = runs(TargetKind::Partita, &[900, 450, 90]);
        let theirs = runs(TargetKind::Before, &[1_000, 500, 800]);
        assert!((ours.ratio(&theirs) - 0.9).abs() < 1e-9);
        // Azurite has only one long run.
        let alone = runs(TargetKind::Azurite, &[225]);
        assert!((ours.ratio(&alone) - 2.0).abs() < 1e-9);
    }

    #[test]
    fn ratios_are_of_the_same_workload_and_connections() {
        let report = Report::new(vec![
            measurement(TargetKind::Partita, 2_000),
            measurement(TargetKind::Bare, 10_000),
            measurement(TargetKind::PayloadLog, 8_000),
            measurement(TargetKind::Azurite, 100),
            measurement(TargetKind::Before, 1_600),
        ]);
        assert!(
            report
                .text()
                .contains("20 % of bare  25 % of payload-log  125 % of before  20.0 x azurite"),
            "{}",
            report.text()
        );
        let row = "| batches of 100 inserts | 64 | 1,000 | 100,000 |";
        assert!(report.markdown().contains(row), "{}", report.markdown());
        assert!(report.markdown().contains("| 20 % | 25 % | 20 × |"));
        assert!(
            report
                .json()
                .unwrap()
                .contains("\"entities_per_s\": 100000.0")
        );
    }
}
