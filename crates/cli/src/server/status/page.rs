//! The screen of `partita status`, as lines of text: a pure function of the documents, for tests.

use super::hot;
use crate::screen::wrap;
use crate::units::{bytes, count, latency, many, rate, rough_duration};
use partita_wire::admin::{
    ClusterServer, EngineStats, Hot, HotPartition, LimitedKey, Ranges, ServerState, Status,
};
use std::fmt::Write as _;
use std::time::Duration;

/// Maximum number of keys over their targets on the screen.
const LIMITED_MAX: usize = 3;
/// Maximum number of ranges without a server on the screen.
const UNOWNED_MAX: usize = 3;
/// Width of the names at the beginning of lines.
const NAME_WIDTH: usize = 10;
/// Minimum line width. Narrower terminals wrap the lines.
const WIDTH_MIN: usize = 30;

/// The content of the screen.
pub(super) struct StatusPage<'a> {
    pub(super) admin: String,
    /// The flag of the admin port for printed commands.
    pub(super) admin_flag: String,
    pub(super) status: &'a Status,
    pub(super) ranges: Option<&'a Ranges>,
    pub(super) hot: Option<&'a Hot>,
    /// What the table endpoint answers, if it was asked.
    pub(super) tables: Option<&'a str>,
    /// Requests a second since the last sample.
    pub(super) rate_now: Option<f64>,
    /// Width of the terminal, in columns.
    pub(super) width: usize,
}

impl StatusPage<'_> {
    /// All lines, wrapped to the width of the terminal.
    pub(super) fn text(&self) -> String {
        let mut lines = self.health();
        lines.push(String::new());
        lines.extend(self.tables.map(|answer| line("tables", answer)));
        lines.extend(self.load());
        lines.push(line("ranges", &self.changes()));
        lines.extend(self.limited());
        lines.push(line("store", &self.store()));
        lines.extend(self.cluster());
        lines.extend(self.written());
        lines.extend(self.hot.into_iter().flat_map(|hot| self.hottest(hot)));
        let width = self.width.max(WIDTH_MIN);
        let lines = lines.iter().flat_map(|line| wrap(line, width, NAME_WIDTH));
        let advice = self.hot.into_iter().flat_map(|hot| self.advice(hot));
        lines.chain(advice).fold(String::new(), |mut text, line| {
            let _ = writeln!(text, "{line}");
            text
        })
    }

    fn health(&self) -> Vec<String> {
        let status = self.status;
        let word = match &status.state {
            ServerState::Ready => "healthy",
            state => state.as_str(),
        };
        let up = rough_duration(Duration::from_secs_f64(status.uptime_seconds.max(0.0)));
        let mut lines = vec![format!(
            "{word}: partita {} at {}, up {up}",
            status.version, self.admin
        )];
        let texts = status.reasons.iter().chain(&status.notes);
        lines.extend(texts.map(|text| format!("  {text}")));
        lines
    }

    /// The servers of the cluster, what this one does, and what is wrong.
    fn cluster(&self) -> Vec<String> {
        let Some(cluster) = &self.status.cluster else {
            return Vec::new();
        };
        let server = &cluster.server;
        let role = match cluster.manager.as_deref() {
            Some(manager) if manager == server => "it is the manager".to_owned(),
            Some(manager) => format!("{manager} is the manager"),
            None => "no server is elected".to_owned(),
        };
        let balancing = match cluster.balances {
            Some(false) => "; balancing is off",
            Some(true) | None => "",
        };
        let upgrade = cluster
            .finalizable
            .map(|next| format!("; version {next} can be finalized: `partita admin finalize`"));
        let upgrade = upgrade.unwrap_or_default();
        let mut lines = vec![line(
            "cluster",
            &format!("{server} answers; {role}{balancing}{upgrade}"),
        )];
        let servers = cluster.servers.iter();
        lines.extend(servers.map(|server| line("", &server_text(server))));
        if let Some(silent) = &cluster.silent {
            lines.push(line("", &format!("no answer from {}", silent.join(", "))));
        }
        let unowned = cluster.unowned.iter().flatten().take(UNOWNED_MAX);
        lines.extend(unowned.map(|unowned| {
            let time = rough_duration(Duration::from_secs_f64(unowned.seconds.max(0.0)));
            let text = format!("range {} has had no server for {time}", unowned.range);
            line("", &text)
        }));
        let change = cluster.change.as_ref();
        lines.extend(change.map(|change| line("", &change.to_string())));
        lines
    }

    fn load(&self) -> Vec<String> {
        let in_flight = self.status.requests.in_flight;
        let now = self.rate_now.map(|now| format!("{}/s now; ", rate(now)));
        let now = now.unwrap_or_default();
        let Some(load) = &self.status.load else {
            let text = format!(
                "{now}{in_flight} in flight; no load yet: it is measured every ten seconds"
            );
            return vec![line("requests", &text)];
        };
        let rates = format!(
            "{now}in the last ten seconds {}/s: {} reads, {} writes, {} throttled",
            rate(load.requests_per_second),
            rate(load.reads_per_second),
            rate(load.writes_per_second),
            rate(load.throttled_per_second)
        );
        let [p50, p99] = [load.latency.p50_us, load.latency.p99_us].map(latency);
        let latencies = format!("p50 {p50}, p99 {p99} within the server; {in_flight} in flight");
        vec![line("requests", &rates), line("latency", &latencies)]
    }

    fn changes(&self) -> String {
        let Some(counts) = &self.status.ranges else {
            return "the data is not open".to_owned();
        };
        let mut parts = vec![many(counts.count, "range", "ranges")];
        if let Some(change) = &counts.change {
            parts.push(change.to_string());
        }
        if counts.frozen > 0 {
            parts.push(format!("{} in transit", count(counts.frozen)));
        }
        if counts.rewriting > 0 {
            parts.push(format!(
                "{} rewriting shared files",
                count(counts.rewriting)
            ));
        }
        if counts.change.is_none() && counts.frozen + counts.rewriting == 0 {
            parts.push("no changes".to_owned());
        }
        parts.push(match (counts.balances, counts.balanced) {
            (false, _) => "automatic balancing off".to_owned(),
            (true, changes) => format!("balanced {}", many(changes, "time", "times")),
        });
        parts.join(", ")
    }

    /// Keys whose requests were refused because they exceeded a target.
    fn limited(&self) -> Vec<String> {
        let limited = &self.status.limited;
        if limited.is_empty() {
            return vec![line("limited", "none")];
        }
        let one = |limited: &LimitedKey| {
            format!(
                "{}: over the {} target, {} refused",
                limited.names(),
                limited.target,
                count(limited.throttled)
            )
        };
        let first = limited.iter().take(LIMITED_MAX).enumerate();
        first
            .map(|(at, limited)| line(if at == 0 { "limited" } else { "" }, &one(limited)))
            .collect()
    }

    fn store(&self) -> String {
        let Status { store, process, .. } = self.status;
        let place = store.path.as_deref().or(store.url.as_deref());
        let place = place.unwrap_or(&store.kind);
        let stored = self.engine().and_then(|engine| engine.stored.as_ref());
        let files = stored.map(|stored| {
            let [live, replaced, log] =
                [stored.live_bytes, stored.replaced_bytes, stored.log_bytes].map(bytes);
            format!("{live} of live files, {replaced} of replaced files, {log} of WAL")
        });
        let sizes = |ranges: &Ranges| ranges.ranges.iter().map(|range| range.layout.bytes).sum();
        let files = files.or_else(|| self.ranges.map(sizes).map(bytes));
        let files = files.map(|files| format!("{files} in "));
        let resident = process.as_ref().map(|process| process.resident_bytes);
        let memory = resident.map(|size| format!(", {} of memory", bytes(size)));
        let (files, memory) = (files.unwrap_or_default(), memory.unwrap_or_default());
        format!("{files}{place}{memory}")
    }

    fn engine(&self) -> Option<&EngineStats> {
        self.status.engine.as_ref()
    }

    /// Bytes written since the start; `None` for data in memory.
    fn written(&self) -> Option<String> {
        let written = self.engine()?.written.as_ref()?;
        let rows = bytes(written.row_bytes);
        let times = written
            .amplification
            .map(|times| format!("{times:.1} times as much "));
        let times = times.unwrap_or_default();
        let [log, flushes, compactions] = [
            written.log_bytes,
            written.flush_bytes,
            written.compaction_bytes,
        ]
        .map(bytes);
        let text = format!(
            "{rows} of rows; {times}to the disk: {log} to the WAL, {flushes} by flushes, {compactions} by compactions"
        );
        Some(line("written", &text))
    }

    fn hottest(&self, hot: &Hot) -> Vec<String> {
        let one = |partition: &HotPartition| {
            let of = |per_second: Option<f64>| rate(per_second.unwrap_or_default());
            let key = partition.partition.as_ref().map(ToString::to_string);
            let split = match hot::split_word(partition, &hot.splits) {
                hot::NOT_NEEDED => String::new(),
                word => format!("; split {word}"),
            };
            format!(
                "{:.1} % of range {}: {}, {} reads/s, {} writes/s{split}",
                partition.share * 100.0,
                partition.range,
                key.unwrap_or_default(),
                of(partition.rates.reads_per_second),
                of(partition.rates.writes_per_second),
            )
        };
        let partitions = hot.partitions.iter().enumerate();
        partitions
            .map(|(at, partition)| line(if at == 0 { "hottest" } else { "" }, &one(partition)))
            .collect()
    }

    /// Advice, wrapped to the width of the terminal.
    fn advice(&self, hot: &Hot) -> Vec<String> {
        let width = self.width.max(WIDTH_MIN) - NAME_WIDTH;
        let advice = hot::advice(hot, &self.admin_flag);
        let texts = advice.iter().flat_map(|advice| advice.lines(width));
        texts
            .enumerate()
            .map(|(at, text)| line(if at == 0 { "advice" } else { "" }, &text))
            .collect()
    }
}

/// A server of the cluster: its ranges, and its health if it answered.
fn server_text(server: &ClusterServer) -> String {
    let ranges = many(server.ranges.unwrap_or_default(), "range", "ranges");
    let mut parts = vec![format!("{}: {ranges}", server.name)];
    parts.extend((server.draining == Some(true)).then(|| "draining".to_owned()));
    let Some(health) = &server.health else {
        return parts.join(", ");
    };
    parts.push(health.state.as_str().to_owned());
    let requests = health.requests_per_second;
    parts.extend(requests.map(|requests| format!("{}/s", rate(requests))));
    parts.extend(health.p99_us.map(|p99| format!("p99 {}", latency(p99))));
    parts.extend(health.cores.map(|cores| format!("{cores:.2} cores")));
    let lease = health.lease_left_seconds;
    parts.extend(lease.map(|left| format!("lease {left:.1}s")));
    let ahead = health.clock_ahead_seconds.filter(|ahead| *ahead != 0);
    parts.extend(ahead.map(|ahead| format!("clock {ahead:+}s")));
    let put = health.log_put_us.as_ref();
    let put = put.and_then(|put| put.p50.zip(put.p99));
    parts.extend(
        put.map(|(p50, p99)| format!("log PUT p50 {}, p99 {}", latency(p50), latency(p99))),
    );
    parts.join(", ")
}

fn line(name: &str, text: &str) -> String {
    format!("{name:<NAME_WIDTH$}{text}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use partita_wire::admin::{
        AdviceKind, LoadSummary, NamedKey, PartitionRates, ProcessStats, RangeSummary, SplitAdvice,
        WindowLatency,
    };

    /// The golden document of the admin API with some values for the screen.
    fn status() -> Status {
        let json = include_str!("../../../../wire/src/admin/golden/status.json");
        let mut status: Status = serde_json::from_str(json).unwrap();
        status.state = ServerState::Degraded;
        let reason = "the disk is full: writes are refused until there is room";
        status.reasons = vec![reason.to_owned()];
        status.uptime_seconds = 7260.4;
        status.requests.in_flight = 12;
        status.load = Some(LoadSummary {
            requests_per_second: 12_345.6,
            reads_per_second: 12_340.0,
            writes_per_second: 5.6,
            latency: WindowLatency {
                p50_us: 210,
                p99_us: 1_300,
            },
            ..LoadSummary::default()
        });
        status.ranges = Some(RangeSummary {
            count: 5,
            frozen: 1,
            rewriting: 2,
            balances: true,
            balanced: 3,
            ..status.ranges.unwrap_or_default()
        });
        status.limited[0].throttled = 4711;
        status.process = Some(ProcessStats {
            resident_bytes: 157_286_400,
            ..ProcessStats::default()
        });
        status
    }

    fn hot() -> Hot {
        let key = Some(NamedKey {
            table: Some("people".to_owned()),
            partition_key: Some("m".to_owned()),
            ..NamedKey::default()
        });
        let partition = HotPartition {
            partition: key.clone(),
            range: 3,
            share: 0.8,
            rates: PartitionRates {
                reads_per_second: Some(12_000.0),
                ..PartitionRates::default()
            },
            ..HotPartition::default()
        };
        let split = SplitAdvice {
            range: 3,
            advice: AdviceKind::OneHotPartition,
            at: key,
            share: Some(0.8),
        };
        Hot {
            partitions: vec![partition],
            splits: vec![split],
            ..Hot::default()
        }
    }

    #[test]
    fn a_cluster_shows_its_servers_and_what_is_wrong() {
        let json = r#"{"server":"a","serves":true,"manager":"b","unserved":1,"balances":false,
            "unowned":[{"range":7,"seconds":3.2}],"silent":["c"],
            "servers":[{"name":"a","life":"1","address":null,"version":"1","ranges":2,"draining":true,
                "health":{"state":"ready","engine":"healthy","requests_per_second":120.0,"p99_us":1300,
                    "cores":0.25,"lease_left_seconds":1.94,"clock_ahead_seconds":-3,
                    "log_put_us":{"mean":9.0,"p50":16384,"p99":32768}}},
                {"name":"c","life":"2","address":null,"version":"1","ranges":1,"draining":false}]}"#;
        let mut status = status();
        status.cluster = Some(serde_json::from_str(json).unwrap());
        let lines = page(&status, None, 200).cluster();
        let expected = [
            "cluster   a answers; b is the manager; balancing is off",
            "          a: 2 ranges, draining, ready, 120/s, p99 1.30 ms, 0.25 cores, lease 1.9s, clock -3s, log PUT p50 16.4 ms, p99 32.8 ms",
            "          c: 1 range",
            "          no answer from c",
            "          range 7 has had no server for 3s",
        ];
        assert_eq!(lines, expected);
    }

    fn page<'a>(status: &'a Status, hot: Option<&'a Hot>, width: usize) -> StatusPage<'a> {
        StatusPage {
            admin: "http://h:1".to_owned(),
            admin_flag: String::new(),
            status,
            ranges: None,
            hot,
            tables: None,
            rate_now: Some(9876.5),
            width,
        }
    }

    #[test]
    fn the_screen_has_every_part() {
        let (status, hot) = (status(), hot());
        let text = page(&status, Some(&hot), 200).text();
        let expected = "\
degraded: partita 0.1.0 at http://h:1, up 2h 1m
  the disk is full: writes are refused until there is room
  the wall clock is 3600s behind the newest stored row: new Timestamps continue after that row; check the machine's clock

requests  9,877/s now; in the last ten seconds 12,346/s: 12,340 reads, 5.6 writes, 0 throttled
latency   p50 210 µs, p99 1.30 ms within the server; 12 in flight
ranges    5 ranges, range 3 is being split into 8 and 9, 1 in transit, 2 rewriting shared files, balanced 3 times
limited   devstoreaccount1/load/single: over the partition target, 4,711 refused
store     8.0 MiB of live files, 10.0 MiB of replaced files, 16.0 MiB of WAL in /data, 150.0 MiB of memory
written   11.5 MiB of rows; 3.2 times as much to the disk: 15.0 MiB to the WAL, 13.5 MiB by flushes, 8.0 MiB by compactions
hottest   80.0 % of range 3: people 'm', 12,000 reads/s, 0 writes/s; split cannot help
advice    range 3: people 'm' alone has 80 % of its load, and a partition is never split: spread its rows over more PartitionKeys
";
        assert_eq!(text, expected);
    }

    #[test]
    fn an_older_server_does_not_report_written_bytes() {
        let mut status = status();
        let engine = status.engine.as_mut().unwrap();
        (engine.written, engine.stored) = (None, None);
        let text = page(&status, None, 200).text();
        assert!(
            text.ends_with("\nstore     /data, 150.0 MiB of memory\n"),
            "{text}"
        );
        let json = include_str!("../../../../wire/src/admin/golden/ranges.json");
        let ranges: Ranges = serde_json::from_str(json).unwrap();
        let mut page = page(&status, None, 200);
        page.ranges = Some(&ranges);
        let text = page.text();
        assert!(text.contains(" in /data, 150.0 MiB of memory\n"), "{text}");
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        let status = status();
        let text = page(&status, None, 40).text();
        assert!(
            text.lines().all(|line| line.chars().count() <= 40),
            "{text}"
        );
        assert!(
            text.contains("\n          seconds 12,346/s: 12,340"),
            "{text}"
        );
    }

    #[test]
    fn a_starting_server_has_no_numbers_yet() {
        let json = include_str!("../../../../wire/src/admin/golden/status_starting.json");
        let status: Status = serde_json::from_str(json).unwrap();
        let text = page(&status, None, 80).text();
        assert!(text.starts_with("starting: partita"), "{text}");
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            text.contains("no load yet: it is measured every ten seconds")
                && text.contains("the data is not open")
        );
    }
}
