//! A sample report for tests.

use super::metrics::{Growth, OperationMetrics, PartitionMetrics, Point, Tries};
use super::report::{FillMetrics, REPORT_VERSION, Report, Settings};
use super::verdict::{Targets, Verdict};
use partita_load::{Counts, LatencySummary, Pattern, Schedule};

/// The report of a run of 60 seconds at 1,000/s. The busiest of three partitions gets most of the load; from second 20
/// on, the server refuses some of its requests.
pub(super) fn report() -> Report {
    let mut report = Report {
        kind: "partita-stress".to_owned(),
        version: REPORT_VERSION,
        made_by: "partita 0.1.0".to_owned(),
        began: "2026-11-22T03:00:00Z".to_owned(),
        settings: settings(),
        load: Some(FillMetrics {
            rows: 10_000,
            seconds: 2.5,
            retries: 0,
        }),
        verdict: Verdict::default(),
        seconds: 60.0,
        steady_seconds: 49.0,
        is_interrupted: false,
        not_begun: 0,
        new_rows: 12_000,
        asked_per_second: 1_000.0,
        served_per_second: 640.0,
        busiest_asked_per_second: 860.0,
        all: metrics("all", 60_000, 1_000),
        operations: vec![
            metrics("get", 48_000, 900),
            metrics("insert", 12_000, 1_500),
        ],
        tries: Tries {
            attempts: 64_000,
            refused: Counts::from([("partition-target".to_owned(), 4_000)]),
            retried: Counts::from([("status 503".to_owned(), 3_800)]),
            waited_ms: 3_900_000,
            waits_asked: 3_800,
            saved: 3_500,
            given_up: Counts::from([("attempts used up".to_owned(), 200)]),
        },
        failures: Counts::from([("503 ServerBusy".to_owned(), 600)]),
        partitions_seen: 3,
        partitions: vec![
            partition("hot", 860.0, 3_900),
            partition("warm", 110.0, 100),
            partition("cold", 30.0, 0),
        ],
        growth: Growth {
            written_per_second: 200.0,
            tail_share: 0.03,
            head_share: 0.02,
        },
        series: (0..60).map(point).collect(),
    };
    report.verdict = report.judged(Targets::CLASSIC);
    report
}

fn metrics(operation: &str, done: u64, p50_us: u64) -> OperationMetrics {
    let latency = |p50_us: u64| LatencySummary {
        mean_us: p50_us as f64 * 1.2,
        p50_us,
        p90_us: p50_us * 2,
        p99_us: p50_us * 10,
        p999_us: p50_us * 40,
        max_us: p50_us * 100,
    };
    OperationMetrics {
        operation: operation.to_owned(),
        done,
        missing: 0,
        failed: done / 100,
        entities: done,
        per_second: done as f64 / 60.0,
        response: latency(p50_us),
        service: latency(p50_us / 2),
        corrected: None,
    }
}

fn partition(key: &str, asked: f64, refused: u64) -> PartitionMetrics {
    PartitionMetrics {
        partition_key: key.to_owned(),
        asked_per_second: asked,
        served_per_second: asked.min(500.0),
        peak_asked: asked as u64 + 40,
        share: asked / 1_000.0,
        refused,
    }
}

fn settings() -> Settings {
    Settings {
        endpoint: "http://127.0.0.1:10002/devstoreaccount1".to_owned(),
        table: "stress".to_owned(),
        run: "0a1b2c3d-0000-0000-0000-000000000000".to_owned(),
        pattern: Pattern::Zipf {
            partitions: 3,
            exponent: 2.0,
        },
        seed: 1,
        rows: 10_000,
        row_bytes: 1_024,
        mix: "get=80,insert=20".parse().unwrap(),
        batch_rows: 100,
        range_rows: 100,
        aim: None,
        schedule: Schedule::Rate {
            per_second: 1_000.0,
            ramp_seconds: 10.0,
            steps: 0,
        },
        workers: 16,
        duration_seconds: Some(60.0),
        operations: None,
        retries: 4,
        targets: Targets::CLASSIC,
    }
}

fn point(second: u32) -> Point {
    let rate = f64::from(second.min(10)) * 100.0;
    let refused = if second >= 20 { 90.0 } else { 0.0 };
    let mut done_per_second = [0.0; 7];
    (done_per_second[0], done_per_second[1]) = (rate * 0.8, rate * 0.2 - refused / 9.0);
    let p50 = 900 + u64::from(second % 7) * 40;
    Point {
        at_seconds: f64::from(second),
        seconds: 1.0,
        done_per_second,
        failed_per_second: refused / 9.0,
        refused_per_second: refused,
        entities_per_second: rate,
        p50_us: (second != 5).then_some(p50),
        p99_us: (second != 5).then_some(if second >= 20 { 1_200_000 } else { p50 * 9 }),
        p999_us: (second != 5).then_some(if second >= 20 { 2_400_000 } else { p50 * 30 }),
    }
}
