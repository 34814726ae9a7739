//! Changes rows while copying them into another table.

use super::super::{RowError, StepError, Template, Transform};
use super::step::Step;
use partita_client::Entity;
use partita_model::check_key;

impl Step<'_> {
    /// Writes the changed rows into another table. A row that already exists there must be equal.
    pub(super) async fn transform_into(
        &mut self,
        transform: &Transform,
        to: &str,
    ) -> Result<(), StepError> {
        if self.record.progress.token.is_none() {
            self.create_table_if_missing(to).await?;
        }
        let [source, target] =
            [&*transform.table, to].map(|name| self.migrator.service.table_client(name));
        self.copy_pages(&source, &target, Some(transform), 0).await
    }
}

/// Applies a transform to a row.
pub(super) fn changed(transform: &Transform, row: Entity) -> Result<Entity, StepError> {
    let keys = (row.partition_key().to_owned(), row.row_key().to_owned());
    try_change(transform, row).map_err(|source| StepError::Row {
        partition_key: keys.0,
        row_key: keys.1,
        source,
    })
}

fn try_change(transform: &Transform, row: Entity) -> Result<Entity, RowError> {
    let key = |template: &Option<Template>, old: &str| match template {
        None => Ok(old.to_owned()),
        Some(template) => {
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
