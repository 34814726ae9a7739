//! SlateDB's own metrics, summed over all databases, for the metrics page.

use slatedb_common::metrics::{DefaultMetricsRecorder, MetricValue};

use crate::EngineMetric;

/// Adds the values of one database to the sums.
pub(super) fn add_to(recorder: &DefaultMetricsRecorder, sums: &mut Vec<EngineMetric>) {
    for metric in recorder.snapshot().all() {
        let (counter, value) = match metric.value {
            MetricValue::Counter(value) => (true, value as f64),
            MetricValue::Gauge(value) | MetricValue::UpDownCounter(value) => (false, value as f64),
            // SlateDB's latency histograms start at one millisecond, too coarse for these operations.
            MetricValue::Histogram { .. } => continue,
        };
        let same = |sum: &&mut EngineMetric| sum.name == metric.name && sum.labels == metric.labels;
        if let Some(sum) = sums.iter_mut().find(same) {
            sum.value += value;
            continue;
        }
        sums.push(EngineMetric {
            name: metric.name.clone(),
            labels: metric.labels.clone(),
            help: metric.description.clone(),
            counter,
            value,
        });
    }
}
