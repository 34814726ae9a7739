//! The figures of a cluster, and their tables.

use std::fmt::Write as _;

use partita_load::{LatencyHistogram, thousands};
use serde::Serialize;

use crate::report::machine;
use crate::{LoadResult, WorkloadKind};

/// Everything that was measured.
#[derive(Clone, Debug, Serialize)]
pub struct ClusterFigures {
    /// Processor, cores and memory.
    pub machine: String,
    /// The date.
    pub date: String,
    /// The load of the machine over the last minute, before the measurement.
    pub load_before: String,
    /// The workloads.
    pub hops: Vec<HopFigures>,
    /// The writes of the log by the server with the rows, during the workloads.
    pub log: Option<LogFigures>,
    /// The failures and moves.
    pub pauses: Vec<PauseFigures>,
    /// The cluster at rest.
    pub rest: Option<RestFigures>,
    /// The time until a hot range was split and a part of it was at another server, of each new cluster, seconds.
    pub hot_s: Vec<f64>,
}

/// A workload sent to the server with the data, and through another.
#[derive(Clone, Debug, Serialize)]
pub struct HopFigures {
    /// The workload's name.
    pub workload: String,
    /// Connections, each with one request under way.
    pub connections: usize,
    /// Sent to the server with the data.
    pub direct: RouteFigures,
    /// Sent to another server.
    pub through: RouteFigures,
    /// The rate through another server as a share of the direct one: the median of the turns.
    pub ratio: f64,
    #[serde(skip)]
    pub(super) kind: WorkloadKind,
}

/// How long the log took for a group of writes: one PUT.
#[derive(Clone, Debug, Serialize)]
pub struct LogFigures {
    /// The median, milliseconds.
    pub p50_ms: f64,
    /// The 99th percentile, milliseconds.
    pub p99_ms: f64,
}

impl LogFigures {
    /// The figures as one line of text.
    #[must_use]
    pub fn line(&self) -> String {
        let Self { p50_ms, p99_ms } = self;
        format!("a group of writes in the log: p50 {p50_ms:.1} ms, p99 {p99_ms:.1} ms")
    }
}

/// A workload on one route.
#[derive(Clone, Debug, Serialize)]
pub struct RouteFigures {
    /// Correct answers a second, of each turn.
    pub turns_requests_per_s: Vec<f64>,
    /// Their median.
    pub requests_per_s: f64,
    /// Median latency over all turns, milliseconds.
    pub p50_ms: f64,
    /// 99th percentile of the latency over all turns, milliseconds.
    pub p99_ms: f64,
    /// Processor time of all servers for each request, microseconds.
    pub servers_cpu_us: f64,
    /// Wrong answers, broken connections and requests refused with 503.
    pub errors: u64,
    /// The first error.
    pub first_error: Option<String>,
}

/// The turns of a workload on one route.
#[derive(Debug, Default)]
pub(super) struct Turns {
    rates: Vec<f64>,
    latency: LatencyHistogram,
    cpu_s: f64,
    requests: u64,
    errors: u64,
    first_error: Option<String>,
}

impl Turns {
    /// Adds a turn, in which the servers used `cpu_s`.
    pub(super) fn add(&mut self, result: &LoadResult, cpu_s: f64) {
        self.rates.push(result.requests_per_s());
        self.latency.merge(&result.latency);
        self.cpu_s += cpu_s;
        self.requests += result.requests;
        self.errors += result.errors + result.refusals();
        let refused = result.refused.keys().next();
        let refused = refused.map(|reason| format!("refused, {reason}"));
        let error = result.first_error.clone().or(refused);
        self.first_error = self.first_error.take().or(error);
    }

    /// The median of the ratios of the rates in each turn.
    pub(super) fn ratio(&self, other: &Self) -> f64 {
        let turns = self.rates.iter().zip(&other.rates);
        median(turns.map(|(ours, theirs)| ours / theirs).collect())
    }

    pub(super) fn figures(self) -> RouteFigures {
        RouteFigures {
            requests_per_s: median(self.rates.clone()),
            turns_requests_per_s: self.rates,
            p50_ms: self.latency.quantile_ms(0.5),
            p99_ms: self.latency.quantile_ms(0.99),
            servers_cpu_us: self.cpu_s * 1e6 / (self.requests as f64).max(1.0),
            errors: self.errors,
            first_error: self.first_error,
        }
    }
}

impl HopFigures {
    /// The heads of [`Self::line`].
    pub(super) const HEAD: &str = "workload     connections  requests/s direct, through    ratio  \
                                   p50 ms            p99 ms            CPU µs of all servers";

    /// The figures as one line of text.
    #[must_use]
    pub fn line(&self) -> String {
        let (direct, through) = (&self.direct, &self.through);
        let mut line = format!(
            "{:<12} {:>11}  {:>10} {:>10}  {:>6.0} %  {:>7.3} {:>7.3}  {:>8.3} {:>8.3}  {:>8.1} {:>8.1}",
            self.workload,
            self.connections,
            thousands(direct.requests_per_s.round()),
            thousands(through.requests_per_s.round()),
            self.ratio * 100.0,
            direct.p50_ms,
            through.p50_ms,
            direct.p99_ms,
            through.p99_ms,
            direct.servers_cpu_us,
            through.servers_cpu_us,
        );
        for route in [direct, through] {
            if let Some(error) = &route.first_error {
                let error: String = error.chars().take(300).collect();
                line += &format!("  {} ERRORS, first: {error}", route.errors);
            }
        }
        line
    }
}

/// How long writes were not acknowledged.
#[derive(Clone, Debug, Serialize)]
pub struct PauseFigures {
    /// What happened.
    pub event: String,
    /// The longest time without an acknowledged write of any client, of each time that it happened, milliseconds.
    pub pauses_ms: Vec<f64>,
}

impl PauseFigures {
    fn quantile(&self, quantile: f64) -> f64 {
        let mut sorted = self.pauses_ms.clone();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().saturating_sub(1) as f64;
        let index = (last * quantile).ceil() as usize;
        sorted.get(index).copied().unwrap_or(f64::NAN)
    }

    /// The figures as one line of text.
    #[must_use]
    pub fn line(&self) -> String {
        format!(
            "{:<44} {:>4} times  median {:>7.0} ms  p99 {:>7.0} ms  max {:>7.0} ms",
            self.event,
            self.pauses_ms.len(),
            self.quantile(0.5),
            self.quantile(0.99),
            self.quantile(1.0),
        )
    }
}

/// The cluster without requests.
#[derive(Clone, Debug, Serialize)]
pub struct RestFigures {
    /// Ranges of all servers.
    pub ranges: usize,
    /// Processor time of all servers, as a share of one core.
    pub servers_cores: f64,
    /// Processor time of etcd, as a share of one core.
    pub etcd_cores: f64,
    /// Messages that etcd receives a minute, keepalives included.
    pub etcd_messages_per_minute: f64,
}

impl RestFigures {
    /// The figures as one line of text.
    #[must_use]
    pub fn line(&self) -> String {
        format!(
            "at rest, {} ranges: servers {:.4} cores, etcd {:.4} cores, {:.0} messages a minute to etcd",
            self.ranges, self.servers_cores, self.etcd_cores, self.etcd_messages_per_minute
        )
    }
}

impl ClusterFigures {
    /// Figures without measurements yet.
    pub(super) fn new() -> Self {
        let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        Self {
            machine: machine(),
            date: crate::rfc1123_now(),
            load_before: load.split(' ').next().unwrap_or_default().to_owned(),
            hops: Vec::new(),
            log: None,
            pauses: Vec::new(),
            rest: None,
            hot_s: Vec::new(),
        }
    }

    /// The times of hot ranges as one line of text.
    pub(super) fn hot_line(&self) -> String {
        let times: Vec<String> = self
            .hot_s
            .iter()
            .map(|time| format!("{time:.1} s"))
            .collect();
        format!(
            "a hot range was split, and a part of it at another server, after {}",
            times.join(", ")
        )
    }

    /// The figures as Markdown tables, for the documents.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut text = format!(
            "Measured on {} ({}, load before {}); three servers, etcd and the load driver share the cores.\n\n\
             | workload | connections | direct/s | through/s | ratio | p50 ms, direct / through | \
             p99 ms, direct / through | CPU µs/request, direct / through |\n\
             | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
            self.machine, self.date, self.load_before
        );
        for hop in &self.hops {
            let (direct, through) = (&hop.direct, &hop.through);
            text += &format!(
                "| {} | {} | {} | {} | {:.0} % | {:.2} / {:.2} | {:.2} / {:.2} | {:.0} / {:.0} |\n",
                hop.kind.title(),
                hop.connections,
                thousands(direct.requests_per_s.round()),
                thousands(through.requests_per_s.round()),
                hop.ratio * 100.0,
                direct.p50_ms,
                through.p50_ms,
                direct.p99_ms,
                through.p99_ms,
                direct.servers_cpu_us,
                through.servers_cpu_us,
            );
        }
        if let Some(log) = &self.log {
            text += &format!("\n{}\n", log.line());
        }
        text += "\n| longest time without an acknowledged write | times | median ms | p99 ms | max ms |\n\
                 | --- | ---: | ---: | ---: | ---: |\n";
        for pause in &self.pauses {
            let quantiles = [0.5, 0.99, 1.0].map(|quantile| pause.quantile(quantile));
            let [median, p99, max] = quantiles.map(|ms| thousands(ms.round()));
            let (event, times) = (&pause.event, pause.pauses_ms.len());
            text += &format!("| {event} | {times} | {median} | {p99} | {max} |\n");
        }
        if let Some(rest) = &self.rest {
            text += &format!("\n{}\n", rest.line());
        }
        if !self.hot_s.is_empty() {
            text += &format!("\n{}\n", self.hot_line());
        }
        text
    }

    /// The figures as aligned text.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = format!(
            "{}\n{}, load before {}\n\n",
            self.machine, self.date, self.load_before
        );
        let hops = self.hops.iter().map(HopFigures::line);
        let log = self.log.iter().map(LogFigures::line);
        let pauses = self.pauses.iter().map(PauseFigures::line);
        let rest = self.rest.iter().map(RestFigures::line);
        let hot = (!self.hot_s.is_empty()).then(|| self.hot_line());
        let head = (!self.hops.is_empty()).then(|| HopFigures::HEAD.to_owned());
        let lines = head.into_iter().chain(hops).chain(log);
        for line in lines.chain(pauses).chain(rest).chain(hot) {
            writeln!(text, "{line}").expect("writing to a string cannot fail");
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

/// The median; NaN of nothing.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let lower = values.get(values.len().saturating_sub(1) / 2);
    let upper = values.get(values.len() / 2);
    lower
        .zip(upper)
        .map_or(f64::NAN, |(lower, upper)| f64::midpoint(*lower, *upper))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_are_compared_turn_by_turn() {
        let turns = |rates: &[u64]| {
            let mut turns = Turns::default();
            for requests in rates {
                let result = LoadResult {
                    requests: *requests,
                    elapsed_s: 1.0,
                    ..LoadResult::default()
                };
                turns.add(&result, 0.5);
            }
            turns
        };
        // The ratio of the medians would be 450 to 800.
        let (ours, theirs) = (turns(&[900, 450, 90]), turns(&[1_000, 500, 800]));
        assert!((ours.ratio(&theirs) - 0.9).abs() < 1e-9);
        let figures = theirs.figures();
        assert!((figures.requests_per_s - 800.0).abs() < 1e-9);
        assert!((figures.servers_cpu_us - 1.5e6 / 2_300.0).abs() < 1e-9);
    }

    #[test]
    fn quantiles_of_pauses_are_pauses() {
        let pauses = PauseFigures {
            event: "move".to_owned(),
            pauses_ms: (1..=100).rev().map(f64::from).collect(),
        };
        let quantiles = [0.0, 0.5, 0.99, 1.0].map(|quantile| pauses.quantile(quantile) as u64);
        assert_eq!(quantiles, [1, 51, 100, 100]);
        assert!(pauses.line().contains("100 times"), "{}", pauses.line());
    }
}
