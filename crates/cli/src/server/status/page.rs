//! The screen of `partita status`, as lines of text: pure, so that tests can look at it.

use super::hot;
use crate::progress::{count, many};
use crate::screen::wrapped;
use indicatif::{BinaryBytes, HumanDuration};
use partita_tools::admin::{Hot, HotPartition, Limited, Ranges, Status};
use std::fmt::Write as _;
use std::time::Duration;

/// Those over a target that are named.
const LIMITED_SHOWN: usize = 3;
/// What lines begin with.
const NAME_WIDTH: usize = 10;
/// A terminal that is narrower breaks lines by itself.
const WIDTH_MIN: usize = 30;

/// What is on the screen.
pub(crate) struct Page<'a> {
    pub(crate) admin: String,
    pub(crate) status: &'a Status,
    pub(crate) ranges: Option<&'a Ranges>,
    pub(crate) hot: Option<&'a Hot>,
    /// Requests a second since the look before.
    pub(crate) rate_now: Option<f64>,
    /// Columns of the terminal.
    pub(crate) width: usize,
}

impl Page<'_> {
    /// All lines, none wider than the terminal.
    pub(crate) fn text(&self) -> String {
        let mut lines = self.health();
        lines.push(String::new());
        lines.extend(self.load());
        lines.push(line("moving", &self.moving()));
        lines.extend(self.limited());
        lines.push(line("store", &self.store()));
        if let Some(hot) = self.hot {
            lines.extend(self.hottest(hot));
            lines.extend(self.advice(hot));
        }
        lines.iter().fold(String::new(), |mut text, line| {
            for part in wrapped(line, self.width.max(WIDTH_MIN), NAME_WIDTH) {
                let _ = writeln!(text, "{part}");
            }
            text
        })
    }

    fn health(&self) -> Vec<String> {
        let Status {
            state,
            version,
            reasons,
            uptime_seconds,
            ..
        } = self.status;
        let word = if state == "ready" { "healthy" } else { state };
        let up = HumanDuration(Duration::from_secs_f64(uptime_seconds.max(0.0)));
        let mut lines = vec![format!(
            "{word}: partita {version} at {}, up {up}",
            self.admin
        )];
        lines.extend(reasons.iter().map(|reason| format!("  {reason}")));
        lines
    }

    fn load(&self) -> Vec<String> {
        let in_flight = self.status.requests.in_flight;
        let now = self.rate_now.map(|rate| format!("{}/s now; ", whole(rate)));
        let now = now.unwrap_or_default();
        let Some(load) = &self.status.load else {
            let text = format!("{now}{in_flight} in flight; no ten seconds are over yet");
            return vec![line("requests", &text)];
        };
        let rates = format!(
            "{now}in the last ten seconds {}/s: {} reads, {} writes, {} throttled",
            whole(load.requests_per_second),
            whole(load.reads_per_second),
            whole(load.writes_per_second),
            whole(load.throttled_per_second)
        );
        let (p50, p99) = (milliseconds(load.p50_us), milliseconds(load.p99_us));
        let latency = format!("p50 {p50}, p99 {p99} within the server; {in_flight} in flight");
        vec![line("requests", &rates), line("latency", &latency)]
    }

    fn moving(&self) -> String {
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
            parts.push("nothing moves".to_owned());
        }
        parts.push(match (counts.balances, counts.balanced) {
            (false, _) => "not balanced by itself".to_owned(),
            (true, changes) => format!("balanced {}", many(changes, "time", "times")),
        });
        parts.join(", ")
    }

    /// Who was refused for being over a target.
    fn limited(&self) -> Vec<String> {
        let limited = &self.status.limited;
        if limited.is_empty() {
            return vec![line("limited", "nobody")];
        }
        let one = |limited: &Limited| {
            let Limited {
                target,
                account,
                table,
                partition_key,
                throttled,
            } = limited;
            let names = [account, table, partition_key].into_iter().flatten();
            let names: Vec<&str> = names.map(String::as_str).collect();
            format!(
                "{}: over the {target} target, {} refused",
                names.join("/"),
                count(*throttled)
            )
        };
        let shown = limited.iter().take(LIMITED_SHOWN).enumerate();
        shown
            .map(|(at, limited)| line(if at == 0 { "limited" } else { "" }, &one(limited)))
            .collect()
    }

    fn store(&self) -> String {
        let Status { store, process, .. } = self.status;
        let place = store.path.as_deref().unwrap_or(&store.kind);
        let files = self
            .ranges
            .map(|ranges| ranges.ranges.iter().map(|range| range.bytes).sum());
        let files = files
            .map(|bytes: u64| format!("{} in ", BinaryBytes(bytes)))
            .unwrap_or_default();
        let resident = process.as_ref().and_then(|process| process.resident_bytes);
        let memory = resident.map(|bytes| format!(", {} of memory", BinaryBytes(bytes)));
        format!("{files}{place}{}", memory.unwrap_or_default())
    }

    fn hottest(&self, hot: &Hot) -> Vec<String> {
        let one = |partition: &HotPartition| {
            let rate = |rate: Option<f64>| whole(rate.unwrap_or_default());
            let place = partition.partition.as_ref().map(ToString::to_string);
            format!(
                "{:.1} % of range {}: {}, {} reads/s, {} writes/s; split {}",
                partition.share * 100.0,
                partition.range,
                place.unwrap_or_default(),
                rate(partition.reads_per_second),
                rate(partition.writes_per_second),
                hot::split_word(partition, &hot.splits)
            )
        };
        let partitions = hot.partitions.iter().enumerate();
        partitions
            .map(|(at, partition)| line(if at == 0 { "hottest" } else { "" }, &one(partition)))
            .collect()
    }

    fn advice(&self, hot: &Hot) -> Vec<String> {
        let advice = hot::advice(hot).into_iter().enumerate();
        advice
            .map(|(at, text)| line(if at == 0 { "advice" } else { "" }, &text))
            .collect()
    }
}

fn line(name: &str, text: &str) -> String {
    format!("{name:<NAME_WIDTH$}{text}")
}

/// A rate without fractions, but for small ones.
fn whole(rate: f64) -> String {
    if rate > 0.0 && rate < 9.95 {
        format!("{rate:.1}")
    } else {
        count(rate.round() as u64)
    }
}

fn milliseconds(us: f64) -> String {
    format!("{:.2} ms", us / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status() -> Status {
        let json = r#"{"version":"0.1.0","state":"degraded","reasons":["the disk is full: writes are refused until there is room"],
            "uptime_seconds":7260.4,"store":{"kind":"directory","path":"/data"},"requests":{"total":100,"in_flight":12},
            "load":{"requests_per_second":12345.6,"reads_per_second":12340.0,"writes_per_second":5.6,"throttled_per_second":0.0,
                "p50_us":210,"p99_us":1300},
            "ranges":{"count":5,"frozen":1,"rewriting":2,"balances":true,"balanced":3,"no_split_key":1,
                "change":{"kind":"split","range":3,"at":"YQ==","left":8,"right":9}},
            "limited":[{"target":"partition","account":"a","table":"people","partition_key":"m","throttled":4711}],
            "process":{"resident_bytes":157286400}}"#;
        serde_json::from_str(json).unwrap()
    }

    fn page<'a>(status: &'a Status, hot: Option<&'a Hot>, width: usize) -> Page<'a> {
        Page {
            admin: "http://h:1".to_owned(),
            status,
            ranges: None,
            hot,
            rate_now: Some(9876.5),
            width,
        }
    }

    #[test]
    fn all_is_on_one_screen() {
        let status = status();
        let hot = r#"{"partitions":[{"partition":{"table":"people","partition_key":"m"},"range":3,"share":0.8,"reads_per_second":12000}],
            "splits":[{"range":3,"advice":"one_hot_partition","at":{"table":"people","partition_key":"m"},"share":0.8}]}"#;
        let hot: Hot = serde_json::from_str(hot).unwrap();
        let text = page(&status, Some(&hot), 200).text();
        let expected = "\
degraded: partita 0.1.0 at http://h:1, up 2 hours
  the disk is full: writes are refused until there is room

requests  9,877/s now; in the last ten seconds 12,346/s: 12,340 reads, 5.6 writes, 0 throttled
latency   p50 0.21 ms, p99 1.30 ms within the server; 12 in flight
moving    5 ranges, range 3 is being split into 8 and 9, 1 in transit, 2 rewriting shared files, balanced 3 times
limited   a/people/m: over the partition target, 4,711 refused
store     /data, 150.00 MiB of memory
hottest   80.0 % of range 3: people 'm', 12,000 reads/s, 0 writes/s; split cannot help
advice    range 3: people 'm' alone has 80 % of its load, and a partition is never cut: spread its rows over more PartitionKeys
";
        assert_eq!(text, expected);
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
    fn a_server_that_starts_says_so() {
        let json = r#"{"state":"starting","reasons":["the data is being opened"],"load":null,"ranges":null}"#;
        let status: Status = serde_json::from_str(json).unwrap();
        let text = page(&status, None, 80).text();
        assert!(text.starts_with("starting: partita"), "{text}");
        assert!(
            text.contains("no ten seconds are over yet") && text.contains("the data is not open")
        );
    }
}
