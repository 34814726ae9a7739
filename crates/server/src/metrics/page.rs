//! The metrics page: the counters of requests and connections, and metrics of the engine, the caches and the process.
//!
//! Rendered on request only; nothing here is on the path of a table request.

use std::ops::RangeInclusive;
use std::time::{Duration, UNIX_EPOCH};

use partita_engine::{Distribution, Stats};
use partita_queue::QueueReport;
use partita_range::CacheStats;
use partita_service::BusyReason;
use partita_wire::admin::ProcessStats;

use super::counts::{CLASSES, ConnectionFault, OperationReading, Reading};
use super::definitions::{self as d, Definition, Kind};
use super::exposition::Page;
use super::forwarding::{ForwardOutcome, ForwardReading};
use crate::scrub::Results;

/// The values of the page in addition to the counters.
#[derive(Debug)]
pub(crate) struct Surroundings {
    pub(crate) version: &'static str,
    pub(crate) uptime: Duration,
    pub(crate) ready: bool,
    /// The memory for bodies and answers: bytes in use, and the limit.
    pub(crate) memory_in_flight: (u64, u64),
    /// The statistics of the engine; `None` until the data is open.
    pub(crate) engine: Option<Stats>,
    /// How far the wall clock is behind the newest stored row.
    pub(crate) wall_clock_lag: Duration,
    /// The number of files that cannot be read.
    pub(crate) damaged_files: usize,
    /// Bytes that the scrub has read.
    pub(crate) scrub_bytes: u64,
    /// The results of the scrub's complete passes.
    pub(crate) scrub: Results,
    /// The fullest queues; empty if they cannot be read now.
    pub(crate) queues: Vec<QueueReport>,
    pub(crate) entity_cache: CacheStats,
    pub(crate) process: Option<ProcessStats>,
    /// The part of the server in its cluster; `None` for one that is alone.
    pub(crate) member: Option<MemberFigures>,
}

/// What a member of a cluster shows.
#[derive(Debug)]
pub(crate) struct MemberFigures {
    pub(crate) lease_left: Duration,
    /// The number of ranges that no living server serves.
    pub(crate) unowned: usize,
    pub(crate) target_shares: Vec<TargetShare>,
    /// The times of the steps of take-overs, in microseconds.
    pub(crate) take_overs: Vec<(&'static str, Distribution)>,
}

/// The part of a target that refused requests in the last minute.
#[derive(Debug)]
pub(crate) struct TargetShare {
    /// What has the target: `table` or `account`.
    pub(crate) target: &'static str,
    pub(crate) account: String,
    /// Empty for the target of an account.
    pub(crate) table: String,
    /// From 0 to 1.
    pub(crate) share: f64,
}

/// Latency buckets on the page: the powers of two from 64 µs to 16.8 s.
const DURATION_EXPONENTS: (u32, u32) = (6, 24);

const US_PER_SECOND: f64 = 1_000_000.0;

/// Writes the page.
pub(crate) fn page(reading: &Reading, around: &Surroundings) -> String {
    let mut page = Page::default();
    page.family(&d::BUILD_INFO);
    page.sample(d::BUILD_INFO.name, &[("version", around.version)], 1);
    page.single(&d::UPTIME, around.uptime.as_secs_f64());
    page.single(&d::READY, u8::from(around.ready));
    let lag = around.wall_clock_lag.as_secs_f64();
    page.single(&d::WALL_CLOCK_LAG, lag);
    requests(&mut page, reading);
    forwarding(&mut page, &reading.forwarding);
    if let Some(figures) = &around.member {
        member(&mut page, figures);
    }
    connections(&mut page, reading);
    let (bytes, bytes_max) = around.memory_in_flight;
    page.single(&d::MEMORY_IN_FLIGHT, bytes);
    page.single(&d::MEMORY_IN_FLIGHT_MAX, bytes_max);
    if let Some(stats) = &around.engine {
        engine(&mut page, stats);
        page.single(&d::DAMAGED_FILES, around.damaged_files);
        scrub(&mut page, around);
    }
    queues(&mut page, &around.queues);
    page.single(&d::ENTITY_CACHE_HITS, around.entity_cache.hits);
    page.single(&d::ENTITY_CACHE_MISSES, around.entity_cache.misses);
    page.single(&d::ENTITY_CACHE_BYTES, around.entity_cache.bytes);
    if let Some(stats) = &around.engine {
        engine_metrics(&mut page, stats);
    }
    if let Some(process) = &around.process {
        page.single(&d::RESIDENT_BYTES, process.resident_bytes);
        page.single(&d::CPU, process.cpu_seconds);
        page.single(&d::OPEN_FILES, process.open_files);
    }
    page.text
}

fn queues(page: &mut Page, queues: &[QueueReport]) {
    page.family(&d::QUEUE_MESSAGES);
    for of in queues {
        let labels = [("account", &*of.account), ("queue", &*of.queue)];
        page.sample(d::QUEUE_MESSAGES.name, &labels, of.messages);
    }
    page.family(&d::QUEUE_NEXT_AGE);
    for of in queues {
        let labels = [("account", &*of.account), ("queue", &*of.queue)];
        let age = of.next_message_age.unwrap_or_default().as_secs_f64();
        page.sample(d::QUEUE_NEXT_AGE.name, &labels, age);
    }
}

fn scrub(page: &mut Page, around: &Surroundings) {
    let results = &around.scrub;
    let last = results
        .last_at
        .and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    page.single(&d::SCRUB_BYTES, around.scrub_bytes);
    page.single(&d::SCRUB_PASSES, results.passes);
    page.single(&d::SCRUB_DAMAGED, results.damaged);
    page.single(&d::SCRUB_LAST, last.unwrap_or_default().as_secs());
}

fn requests(page: &mut Page, reading: &Reading) {
    page.family(&d::REQUESTS);
    for operation in &reading.operations {
        for (class, count) in CLASSES.iter().zip(operation.classes) {
            let labels = [("operation", operation.name), ("status", class)];
            page.sample(d::REQUESTS.name, &labels, count);
        }
    }
    page.family(&d::ERRORS);
    for operation in &reading.operations {
        for (code, count) in &operation.errors {
            let status = code.status().to_string();
            let labels = [
                ("operation", operation.name),
                ("code", code.name()),
                ("status", &status),
            ];
            page.sample(d::ERRORS.name, &labels, *count);
        }
    }
    let busy = BusyReason::WORDS.into_iter().zip(reading.busy);
    page.labelled(&d::BUSY, "reason", busy);
    // Operations without requests are left out: a histogram has many lines.
    page.family(&d::DURATION);
    let operations = reading.operations.iter();
    for operation in operations.filter(|operation| operation.requests() > 0) {
        let latencies = &operation.latencies;
        let (from, to) = DURATION_EXPONENTS;
        let buckets = latencies.at_powers_of_two(from, to);
        let buckets = buckets.map(|(bound, below)| (bound as f64 / US_PER_SECOND, below));
        let labels = [("operation", operation.name)];
        let sum = latencies.sum_us as f64 / US_PER_SECOND;
        page.histogram(d::DURATION.name, &labels, buckets, latencies.count(), sum);
    }
    type Count = fn(&OperationReading) -> u64;
    let families: [(_, Count); 3] = [
        (&d::BYTES_IN, |operation| operation.bytes_in),
        (&d::BYTES_OUT, |operation| operation.bytes_out),
        (&d::ENTITIES_OUT, |operation| operation.entities_out),
    ];
    for (definition, count) in families {
        let operations = reading.operations.iter();
        let samples = operations.map(|operation| (operation.name, count(operation)));
        page.labelled(definition, "operation", samples);
    }
    page.single(&d::IN_FLIGHT, reading.in_flight);
}

fn forwarding(page: &mut Page, reading: &ForwardReading) {
    let outcomes = ForwardOutcome::WORDS.into_iter().zip(reading.outcomes);
    page.labelled(&d::FORWARDED, "outcome", outcomes);
    page.single(&d::HELD, reading.held);
    page.single(&d::FOR_PEERS, reading.for_peers);
}

fn member(page: &mut Page, figures: &MemberFigures) {
    page.single(&d::LEASE_LEFT, figures.lease_left.as_secs_f64());
    page.single(&d::UNOWNED, figures.unowned);
    page.family(&d::TARGET_SHARE);
    for of in &figures.target_shares {
        let labels = [
            ("target", of.target),
            ("account", &*of.account),
            ("table", &*of.table),
        ];
        page.sample(d::TARGET_SHARE.name, &labels, of.share);
    }
    page.family(&d::TAKE_OVER);
    for (step, times) in &figures.take_overs {
        let labels = [("step", *step)];
        buckets(
            page,
            &d::TAKE_OVER,
            &labels,
            times,
            (US_PER_SECOND, 10..=24),
        );
    }
}

fn connections(page: &mut Page, reading: &Reading) {
    page.single(&d::CONNECTIONS, reading.connections);
    page.single(&d::CONNECTIONS_OPENED, reading.connections_opened);
    let reasons = ConnectionFault::REASONS.into_iter();
    let failed = reasons.zip(reading.connections_failed);
    page.labelled(&d::CONNECTIONS_FAILED, "reason", failed);
}

fn engine(page: &mut Page, stats: &Stats) {
    page.single(&d::COMMIT_BATCHES, stats.batches);
    page.single(&d::COMMIT_ROWS, stats.rows);
    page.single(&d::COMMIT_BYTES, stats.bytes);
    page.single(&d::COMMIT_ROW_BYTES, stats.row_bytes());
    page.single(&d::COMMIT_REFUSED, stats.batches_refused);
    page.single(&d::COMMIT_UNKNOWN, stats.batches_unknown);
    distribution(page, &d::GROUP_BATCHES, &stats.group_batches, 1.0, 0..=12);
    distribution(page, &d::GROUP_BYTES, &stats.group_bytes, 1.0, 8..=24);
    let sync = &stats.sync_us;
    distribution(page, &d::SYNC_DURATION, sync, US_PER_SECOND, 5..=24);
    page.single(&d::LOG_BYTES, stats.log_bytes);
    if let Some(written) = &stats.written {
        let bytes = [
            ("log", written.log),
            ("flush", written.flushes),
            ("compaction", written.compactions),
        ];
        page.labelled(&d::WRITTEN_BYTES, "by", bytes.into_iter());
    }
    if let Some(stored) = &stats.stored {
        let bytes = [
            ("live", stored.live),
            ("replaced", stored.replaced),
            ("log", stored.log),
        ];
        page.labelled(&d::STORED_BYTES, "use", bytes.into_iter());
    }
    page.single(&d::BLOCK_CACHE_HITS, stats.cache_hits);
    page.single(&d::BLOCK_CACHE_MISSES, stats.cache_misses);
    page.single(&d::BLOCK_CACHE_BYTES, stats.cache_bytes);
    if let Some(disk_cache) = stats.disk_cache {
        page.single(&d::DISK_CACHE_HITS, disk_cache.hits);
        page.single(&d::DISK_CACHE_MISSES, disk_cache.misses);
        page.single(&d::DISK_CACHE_BYTES, disk_cache.bytes);
    }
}

/// A distribution of the engine, divided by `scale`. Its buckets are bounded by powers of two; the page shows the
/// buckets of `exponents`, which cover the expected values.
fn distribution(
    page: &mut Page,
    definition: &Definition,
    seen: &Distribution,
    scale: f64,
    exponents: RangeInclusive<usize>,
) {
    page.family(definition);
    buckets(page, definition, &[], seen, (scale, exponents));
}

/// The buckets of a distribution, with labels.
fn buckets(
    page: &mut Page,
    definition: &Definition,
    labels: &[(&str, &str)],
    seen: &Distribution,
    (scale, exponents): (f64, RangeInclusive<usize>),
) {
    let mut below = 0;
    let buckets = seen.buckets.iter().enumerate().map(|(index, count)| {
        below += count;
        (index, below)
    });
    let shown = buckets.filter(|(index, _)| exponents.contains(index));
    let shown = shown.map(|(index, below)| (Distribution::bound(index) as f64 / scale, below));
    let sum = seen.sum as f64 / scale;
    page.histogram(definition.name, labels, shown, seen.count, sum);
}

/// Metrics that the engine names itself, with the prefix `partita_engine_`, one family for each name.
fn engine_metrics(page: &mut Page, stats: &Stats) {
    let mut metrics: Vec<_> = stats.metrics.iter().collect();
    metrics.sort_by(|a, b| a.name.cmp(&b.name));
    let mut family = None;
    for metric in metrics {
        let mut name: String = metric.name.chars().map(name_char).collect();
        name.insert_str(0, "partita_engine_");
        if metric.counter && !name.ends_with("_total") {
            name.push_str("_total");
        }
        if family.as_ref() != Some(&name) {
            let kind = match metric.counter {
                true => Kind::Counter,
                false => Kind::Gauge,
            };
            page.family_named(&name, kind, &metric.help);
        }
        let labels = metric.labels.iter();
        let labels = labels.map(|(label, text)| (label.chars().map(name_char).collect(), text));
        let labels: Vec<(String, &String)> = labels.collect();
        let labels = labels.iter();
        let labels: Vec<_> = labels
            .map(|(name, text)| (name.as_str(), text.as_str()))
            .collect();
        page.sample(&name, &labels, metric.value);
        family = Some(name);
    }
}

/// A character of a metric or label name: a lower-case letter, a digit or an underscore.
fn name_char(letter: char) -> char {
    match letter.is_ascii_alphanumeric() {
        true => letter.to_ascii_lowercase(),
        false => '_',
    }
}

#[cfg(test)]
mod tests {
    use partita_engine::{DiskCacheStats, EngineMetric, Health, StoredBytes, WrittenBytes};
    use partita_wire::ErrorCode;

    use super::*;
    use crate::metrics::{Answered, Metrics, Operation, process_stats};

    fn stats() -> Stats {
        let figure = |name: &str, label: &str, counter| EngineMetric {
            name: name.to_owned(),
            labels: vec![("op.kind".to_owned(), label.to_owned())],
            help: "What it is".to_owned(),
            counter,
            value: 4.0,
        };
        Stats {
            health: Health::Healthy,
            batches: 3,
            rows: 5,
            bytes: 700,
            batches_refused: 0,
            batches_unknown: 0,
            group_batches: Distribution {
                count: 2,
                sum: 3,
                buckets: vec![1, 1, 0],
            },
            group_bytes: Distribution::default(),
            sync_us: Distribution {
                count: 1,
                sum: 500_000,
                buckets: vec![0, 0, 1],
            },
            log_bytes: 9,
            written: Some(WrittenBytes {
                log: 1_024,
                flushes: 800,
                compactions: 300,
            }),
            stored: Some(StoredBytes {
                live: 600,
                replaced: 500,
                log: 4_096,
            }),
            cache_hits: 8,
            cache_misses: 2,
            cache_bytes: 4096,
            disk_cache: Some(DiskCacheStats {
                hits: 5,
                misses: 6,
                bytes: 7_000,
            }),
            metrics: vec![
                figure("db.ops", "get", true),
                figure("l0", "", false),
                figure("db.ops", "put", true),
            ],
        }
    }

    /// A page with every family.
    fn full_page() -> String {
        let metrics = Metrics::default();
        metrics.request(&Answered {
            operation: Operation::Table(Some(partita_wire::table::Operation::GetEntity)),
            status: 404,
            code: Some(ErrorCode::ResourceNotFound),
            busy: Some("table-target"),
            latency: Duration::from_micros(100),
            bytes_in: 0,
            bytes_out: 9,
            entities_out: 0,
        });
        let around = Surroundings {
            version: "1.2.3",
            uptime: Duration::from_millis(1500),
            ready: true,
            memory_in_flight: (3, 8),
            engine: Some(stats()),
            wall_clock_lag: Duration::from_millis(2500),
            damaged_files: 1,
            scrub_bytes: 5,
            scrub: Results::default(),
            queues: vec![QueueReport {
                account: "acc".to_owned(),
                queue: "work".to_owned(),
                messages: 3,
                next_message_age: None,
            }],
            entity_cache: CacheStats {
                hits: 1,
                misses: 2,
                ..CacheStats::default()
            },
            process: process_stats(),
            member: Some(MemberFigures {
                lease_left: Duration::from_millis(1_900),
                unowned: 1,
                target_shares: vec![TargetShare {
                    target: "table",
                    account: "acc".to_owned(),
                    table: "People".to_owned(),
                    share: 0.25,
                }],
                take_overs: vec![("open", Distribution::default())],
            }),
        };
        page(&metrics.read(), &around)
    }

    /// Every family's help, type, and names of samples with their labels; no values.
    fn outline(page: &str) -> String {
        let mut lines: Vec<String> = Vec::new();
        for line in page.lines() {
            let outline = match (line.starts_with('#'), line.split_once('{')) {
                (true, _) => line.to_owned(),
                (false, None) => line.split(' ').next().unwrap().to_owned(),
                (false, Some((name, labels))) => {
                    let labels = labels.split_once('}').unwrap().0.split("\",");
                    let names: Vec<_> = labels
                        .map(|label| label.split_once('=').unwrap().0)
                        .collect();
                    format!("{name}{{{}}}", names.join(","))
                }
            };
            if !lines.contains(&outline) {
                lines.push(outline);
            }
        }
        lines.join("\n") + "\n"
    }

    #[test]
    fn names_types_help_and_labels_are_as_published() {
        assert_eq!(outline(&full_page()), include_str!("families.txt"));
    }

    #[test]
    fn the_page_shows_the_counts() {
        let page = full_page();
        for line in [
            "partita_build_info{version=\"1.2.3\"} 1",
            "partita_requests_total{operation=\"QueryEntity\",status=\"4xx\"} 1",
            "partita_requests_total{operation=\"InsertEntity\",status=\"2xx\"} 0",
            "partita_errors_total{operation=\"QueryEntity\",code=\"ResourceNotFound\",status=\"404\"} 1",
            "partita_request_duration_seconds_bucket{operation=\"QueryEntity\",le=\"0.000064\"} 0",
            "partita_request_duration_seconds_bucket{operation=\"QueryEntity\",le=\"0.000128\"} 1",
            "partita_wall_clock_lag_seconds 2.5",
            "partita_busy_total{reason=\"table-target\"} 1",
            "partita_busy_total{reason=\"overloaded\"} 0",
            "partita_target_share{target=\"table\",account=\"acc\",table=\"People\"} 0.25",
            "partita_memory_in_flight_bytes 3",
            "partita_memory_in_flight_max_bytes 8",
            "partita_response_bytes_total{operation=\"QueryEntity\"} 9",
            "partita_commit_row_bytes_total 380",
            "partita_commit_group_batches_bucket{le=\"1\"} 1",
            "partita_commit_group_batches_bucket{le=\"2\"} 2",
            "partita_commit_group_batches_bucket{le=\"+Inf\"} 2",
            "partita_log_sync_duration_seconds_sum 0.5",
            "partita_storage_written_bytes_total{by=\"log\"} 1024",
            "partita_storage_written_bytes_total{by=\"flush\"} 800",
            "partita_storage_written_bytes_total{by=\"compaction\"} 300",
            "partita_storage_bytes{use=\"live\"} 600",
            "partita_storage_bytes{use=\"replaced\"} 500",
            "partita_storage_bytes{use=\"log\"} 4096",
            "partita_block_cache_hits_total 8",
            "partita_damaged_files 1",
            "partita_scrub_bytes_total 5",
            "partita_entity_cache_misses_total 2",
            "partita_engine_db_ops_total{op_kind=\"get\"} 4",
            "partita_engine_db_ops_total{op_kind=\"put\"} 4",
            "partita_engine_l0{op_kind=\"\"} 4",
        ] {
            assert!(
                page.lines().any(|held| held == line),
                "{line} is missing:\n{page}"
            );
        }
        // Each family has one TYPE line, and operations without requests have no histogram.
        assert_eq!(
            page.matches("# TYPE partita_engine_db_ops_total counter")
                .count(),
            1
        );
        assert!(!page.contains("duration_seconds_count{operation=\"InsertEntity\"}"));
    }
}
