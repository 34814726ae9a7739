//! SlateDB's own metrics, summed over all databases, for the metrics page.

use std::sync::Arc;

use slatedb_common::metrics::{DefaultMetricsRecorder, MetricValue, MetricsRecorder};

use crate::EngineMetric;

/// The metrics of one database.
pub(super) struct DatabaseMetrics {
    recorder: Arc<DefaultMetricsRecorder>,
}

impl DatabaseMetrics {
    pub(super) fn new() -> Self {
        Self {
            recorder: Arc::new(DefaultMetricsRecorder::new()),
        }
    }

    pub(super) fn recorder(&self) -> Arc<dyn MetricsRecorder> {
        Arc::clone(&self.recorder) as Arc<dyn MetricsRecorder>
    }

    /// Adds its values to those of other databases.
    #[allow(
        clippy::cast_precision_loss,
        reason = "metrics are read as floating point"
    )]
    pub(super) fn add_to(&self, sums: &mut Vec<EngineMetric>) {
        for metric in self.recorder.snapshot().all() {
            let (counter, value) = match metric.value {
                MetricValue::Counter(value) => (true, value as f64),
                MetricValue::Gauge(value) | MetricValue::UpDownCounter(value) => {
                    (false, value as f64)
                }
                // SlateDB's latency histograms begin at a millisecond: coarser than anything that happens here.
                MetricValue::Histogram { .. } => continue,
            };
            let same =
                |sum: &&mut EngineMetric| sum.name == metric.name && sum.labels == metric.labels;
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
}
