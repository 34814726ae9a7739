//! SlateDB's own figures, for the metrics page: those of all databases together.

use std::sync::Arc;

use slatedb_common::metrics::{DefaultMetricsRecorder, MetricValue, MetricsRecorder};

use crate::EngineFigure;

/// What a database counts about itself.
pub(super) struct Figures {
    recorder: Arc<DefaultMetricsRecorder>,
}

impl Figures {
    pub(super) fn new() -> Self {
        Self {
            recorder: Arc::new(DefaultMetricsRecorder::new()),
        }
    }

    pub(super) fn recorder(&self) -> Arc<dyn MetricsRecorder> {
        Arc::clone(&self.recorder) as Arc<dyn MetricsRecorder>
    }

    /// Adds its figures to those of other databases.
    #[allow(clippy::cast_precision_loss, reason = "figures for people and graphs")]
    pub(super) fn add_to(&self, sums: &mut Vec<EngineFigure>) {
        for metric in self.recorder.snapshot().all() {
            let (counter, value) = match metric.value {
                MetricValue::Counter(value) => (true, value as f64),
                MetricValue::Gauge(value) | MetricValue::UpDownCounter(value) => {
                    (false, value as f64)
                }
                // Its latency histograms begin at a millisecond, coarser than anything that happens here.
                MetricValue::Histogram { .. } => continue,
            };
            let same =
                |sum: &&mut EngineFigure| sum.name == metric.name && sum.labels == metric.labels;
            if let Some(sum) = sums.iter_mut().find(same) {
                sum.value += value;
                continue;
            }
            sums.push(EngineFigure {
                name: metric.name.clone(),
                labels: metric.labels.clone(),
                help: metric.description.clone(),
                counter,
                value,
            });
        }
    }
}
