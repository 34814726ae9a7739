//! The start: checks the store, completes its serving records, and opens the ranges.

use super::Driver;
use crate::controller::Event;
use crate::error::StartError;
use crate::map::{MapRecord, RangeSpec, ServingRecord, Severity, StoreCheck, StoreContents, check};
use partita_range::RangeId;
use std::sync::Arc;
use tokio::sync::oneshot;

impl Driver {
    /// Rolls back an interrupted change, and opens all ranges. Changes nothing in a store whose map is not proven to be
    /// the newest.
    pub(crate) async fn start(self: &Arc<Self>) -> Result<(), StartError> {
        let contents = StoreContents {
            map: self.parts.store.contents().await?,
            ranges: self.parts.engines.stored().await?,
        };
        self.parts.coordinator.confirm().await?;
        let checked = check(&contents);
        for finding in checked.findings_of(Severity::Warning) {
            tracing::warn!("{finding}");
        }
        let refused: Vec<_> = checked.findings_of(Severity::Refused).cloned().collect();
        if !refused.is_empty() {
            return Err(StartError::Damaged(refused));
        }
        let databases = contents.ranges.databases.iter();
        let databases: Vec<RangeId> = databases.map(|database| database.range).collect();
        let late = self.complete_serving_records(&checked, &databases).await?;
        let record = checked.newest;
        if let Some(change) = record.as_ref().and_then(|record| record.change.as_ref()) {
            tracing::warn!(?change, "rolling back an interrupted split or merge");
        }
        let (answer, answered) = oneshot::channel();
        *self.starting.lock() = Some(answer);
        self.feed(Event::Found { record, databases });
        answered.await.expect("the start has a result")?;
        self.save_serving_records(&late).await
    }

    /// Makes the serving records agree with the map, before a new version of the map is stored: later starts compare
    /// the two. Returns the ranges whose serving record must not be stored before their database exists.
    async fn complete_serving_records(
        &self,
        checked: &StoreCheck,
        databases: &[RangeId],
    ) -> Result<Vec<RangeSpec>, StartError> {
        let store = &self.parts.store;
        let mut late = Vec::new();
        for record in &checked.serving_missing {
            match databases.contains(&RangeId(record.range)) {
                true => store.save_serving(record).await?,
                false => late.push(record.spec()),
            }
        }
        for range in &checked.serving_outdated {
            store.remove_serving(*range).await?;
        }
        if checked.newest.is_none() {
            late.extend(MapRecord::first().specs());
        }
        Ok(late)
    }

    async fn save_serving_records(&self, ranges: &[RangeSpec]) -> Result<(), StartError> {
        let version = self.record().version;
        for range in ranges {
            let record = ServingRecord::new(range, version);
            self.parts.store.save_serving(&record).await?;
        }
        Ok(())
    }
}
