//! `partita heat --html`: requests the maps of a page, and writes it.

use super::columns::{drop_unfinished, known_columns, known_s, step};
use super::{HOUR_S, HeatCommand, note_missing};
use crate::new_file;
use crate::prelude::*;
use partita_client::now;
use partita_tools::admin::{AdminError, AdminPort, HeatQuery, HeatRows};
use partita_tools::heat::{HeatPage, html, join_dropped, time_of_column};
use partita_wire::admin::{Heat, HeatMetric};

/// Columns of a map, at most.
const COLUMNS: u64 = 145;
/// Key buckets and partitions by default.
const ROWS: [usize; 2] = [64, 32];
/// Partitions of the metrics that do not give the order, as each metric has its own order. The server answers at most
/// 100,000 values.
const OTHER_ROWS: usize = 512;
/// The metrics beside the chosen one, which the page shows for the cell under the pointer.
const METRICS: [HeatMetric; 6] = [
    HeatMetric::Requests,
    HeatMetric::Reads,
    HeatMetric::Writes,
    HeatMetric::Bytes,
    HeatMetric::P99Us,
    HeatMetric::Throttled,
];

impl HeatCommand {
    /// Writes the page to its file.
    pub(super) async fn write_page(&self, port: &AdminPort, progress: Progress) -> CommandResult {
        let Some(first) = self.first_map(port).await? else {
            return progress.finish("no data for that time", Outcome::NothingFound);
        };
        let page = HeatPage {
            server: port.to_string(),
            made_at: now().text().to_string(),
            keys: self.maps(port, HeatRows::Ranges, &first).await?,
            partitions: self.maps(port, HeatRows::Partitions, &first).await?,
        };
        new_file::write(self.html.as_ref(), || html(&page))?;
        let first = page.keys.first();
        if let Some(first) = first {
            note_missing(first);
        }
        let path = self.html.as_deref().unwrap_or_else(|| "".as_ref());
        progress.finish(&format!("{} written", path.display()), Outcome::Done)
    }

    /// The query that all maps of the page share, with exact times; `None` without data.
    async fn first_map(&self, port: &AdminPort) -> Result<Option<HeatQuery>, AdminError> {
        let [rows, _] = self.page_rows();
        let ask = |last_s| self.query(HeatRows::Ranges, last_s, COLUMNS, rows);
        let mut heat = port.heat(&ask(self.last.unwrap_or(HOUR_S))).await?.document;
        let Some(known_s) = known_s(&heat) else {
            return Ok(None);
        };
        if self.last.is_none() && step(known_s, COLUMNS) < heat.step_seconds {
            heat = port.heat(&ask(known_s)).await?.document;
        }
        if self.to.is_none() {
            drop_unfinished(&mut heat);
        }
        let known = known_columns(&heat).unwrap_or(0..heat.columns);
        let first = self.last.map_or(known.start, |_| 0);
        let last_s = (known.end - first) as u64 * heat.step_seconds;
        let end = time_of_column(&heat, known.end as u64);
        Ok(Some(HeatQuery {
            to: end.map(|end| end.text().to_string()).or(heat.to),
            last_seconds: last_s,
            step_seconds: heat.step_seconds,
            ..ask(last_s)
        }))
    }

    /// The rows of the two maps.
    fn page_rows(&self) -> [usize; 2] {
        ROWS.map(|usual| self.rows.map_or(usual, usize::from))
    }

    /// The maps of all metrics, the chosen one first.
    async fn maps(
        &self,
        port: &AdminPort,
        by: HeatRows,
        query: &HeatQuery,
    ) -> Result<Vec<Heat>, AdminError> {
        let others = METRICS.into_iter().filter(|it| *it != self.metric);
        let [keys, partitions] = self.page_rows();
        let mut maps = Vec::new();
        for metric in std::iter::once(self.metric).chain(others) {
            let rows = match by {
                HeatRows::Ranges => keys,
                HeatRows::Partitions if metric == self.metric => partitions,
                HeatRows::Partitions => OTHER_ROWS,
            };
            let query = HeatQuery {
                metric,
                by,
                rows,
                ..query.clone()
            };
            let mut heat = port.heat(&query).await?.document;
            join_dropped(&mut heat);
            maps.push(heat);
        }
        Ok(maps)
    }
}
