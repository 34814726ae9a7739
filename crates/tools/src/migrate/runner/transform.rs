//! Rows that are changed on their way into another table.

use super::super::record::Progress;
use super::super::{RowError, StepError, Transform};
use super::step::Step;
use crate::scan::Bounds;
use crate::transfer::Mode;
use partita_client::Entity;
use partita_model::check_key;

impl Step<'_> {
    /// Writes the changed rows into another table. A row that is there already must be the same.
    pub(super) async fn transform_into(
        &mut self,
        transform: &Transform,
        to: &str,
    ) -> Result<(), StepError> {
        let Progress { token, .. } = self.record.progress.clone();
        if token.is_none() {
            self.create_table_if_missing(to).await?;
        }
        let [source, target] = [&*transform.table, to].map(|name| self.service.table_client(name));
        let filter = transform.filter.clone();
        let mut scan = self.scan(&source, filter, Vec::new(), &Bounds::default(), token)?;
        let mut pages = 0;
        while let Some(batch) = scan.next().await {
            let changed = batch?.rows.into_iter().map(|row| changed(transform, row));
            let changed = changed.collect::<Result<Vec<_>, _>>()?;
            self.write_page(&target, changed, Mode::Insert).await?;
            pages += 1;
            if pages % self.options.pages_between_records.max(1) == 0 {
                self.reached(Progress {
                    token: Some(scan.token()),
                    ..Progress::default()
                })
                .await?;
            }
        }
        Ok(())
    }
}

/// The row as it is to be.
pub(super) fn changed(transform: &Transform, row: Entity) -> Result<Entity, StepError> {
    let keys = (row.partition_key().to_owned(), row.row_key().to_owned());
    try_change(transform, row).map_err(|source| StepError::Row {
        partition_key: keys.0,
        row_key: keys.1,
        source,
    })
}

fn try_change(transform: &Transform, row: Entity) -> Result<Entity, RowError> {
    let key = |template: &Option<_>, old: &str| match template {
        None => Ok(old.to_owned()),
        Some(template) => {
            let template: &super::super::Template = template;
            let key = template.of(&row)?;
            match check_key(&key) {
                Ok(()) => Ok(key),
                Err(_) => Err(RowError::InvalidKey(key)),
            }
        }
    };
    let partition_key = key(&transform.partition_key, row.partition_key())?;
    let row_key = key(&transform.row_key, row.row_key())?;
    let mut changed = row.with_keys(partition_key, row_key);
    for change in &transform.changes {
        change.apply(&mut changed)?;
    }
    Ok(changed)
}
