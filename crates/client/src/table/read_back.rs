//! Tells a write that meets its own first success from one that was refused, by reading back.
//!
//! ```text
//! attempt 1: insert ──▶ done ──▶ the answer is lost
//! attempt 2: insert ──▶ 409, because the first one did it
//! read back: the entity is there, as it was sent ──▶ success
//! ```

use super::{TableClient, UpdateMode};
use crate::pipeline::Failed;
use crate::{ETag, Entity, Result};

/// A write whose effect can be looked for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Write<'a> {
    /// The entity has exactly these properties.
    Set(&'a Entity),
    /// It has these among others.
    Merged(&'a Entity),
    /// There is none of these keys.
    Deleted(&'a str, &'a str),
}

impl<'a> Write<'a> {
    pub(super) const fn of_mode(entity: &'a Entity, mode: UpdateMode) -> Self {
        match mode {
            UpdateMode::Merge => Self::Merged(entity),
            UpdateMode::Replace => Self::Set(entity),
        }
    }

    const fn keys(&self) -> (&'a str, &'a str) {
        match self {
            Self::Set(entity) | Self::Merged(entity) => {
                (entity.partition_key.as_str(), entity.row_key.as_str())
            }
            Self::Deleted(partition_key, row_key) => (partition_key, row_key),
        }
    }

    /// Whether what is there now is what the write would have left.
    fn is_in(&self, found: Option<&Entity>) -> bool {
        match (self, found) {
            (Self::Deleted(..), found) => found.is_none(),
            (Self::Set(sent), Some(found)) => sent.len() == found.len() && is_among(sent, found),
            (Self::Merged(sent), Some(found)) => is_among(sent, found),
            (Self::Set(_) | Self::Merged(_), None) => false,
        }
    }
}

/// Whether each property of `sent` is in `found`.
fn is_among(sent: &Entity, found: &Entity) -> bool {
    sent.iter()
        .all(|(name, value)| found.get(name).is_some_and(|found| value.is_same(found)))
}

impl TableClient {
    /// The version of the entity, if the failed write has happened after all; else its error.
    pub(super) async fn told_apart(&self, failed: Failed, write: &Write<'_>) -> Result<ETag> {
        match self.found_back(&failed, std::slice::from_ref(write)).await {
            Some(mut etags) => Ok(etags.pop().flatten().unwrap_or_else(|| ETag::from(""))),
            None => Err(failed.error),
        }
    }

    /// The versions of all entities written, if all writes can be read back after a failure that may speak of their own first
    /// success. Deletes alone prove nothing: anyone may have done them.
    pub(super) async fn found_back(
        &self,
        failed: &Failed,
        writes: &[Write<'_>],
    ) -> Option<Vec<Option<ETag>>> {
        let may_be_own = failed.ambiguous && matches!(failed.error.status(), Some(404 | 409 | 412));
        let proves = writes
            .iter()
            .any(|write| !matches!(write, Write::Deleted(..)));
        if !may_be_own || !proves {
            return None;
        }
        let mut etags = Vec::with_capacity(writes.len());
        for write in writes {
            let (partition_key, row_key) = write.keys();
            // An error here leaves the question open, which is what the first error says.
            let found = self
                .get_entity_if_exists(partition_key, row_key)
                .await
                .ok()?;
            if !write.is_in(found.as_ref()) {
                return None;
            }
            etags.push(found.and_then(|entity| entity.etag));
        }
        tracing::debug!(writes = writes.len(), "an earlier attempt had happened");
        Some(etags)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_counts_as_ones_own() {
        let entity = |properties: &[(&str, f64)]| {
            let mut entity = Entity::new("p", "r");
            for (name, value) in properties {
                entity.insert(name, *value);
            }
            entity
        };
        let sent = entity(&[("a", 1.0), ("b", f64::NAN), ("c", -0.0)]);
        let same = entity(&[("c", 0.0), ("b", f64::NAN), ("a", 1.0)]);
        let more = entity(&[("c", 0.0), ("b", f64::NAN), ("a", 1.0), ("d", 2.0)]);
        let other = entity(&[("a", 2.0), ("b", f64::NAN), ("c", 0.0)]);
        let mut typed = same.clone();
        typed.insert("a", 1);
        for (write, found, own) in [
            (Write::Set(&sent), Some(&same), true),
            (Write::Set(&sent), Some(&more), false),
            (Write::Set(&sent), Some(&other), false),
            (Write::Set(&sent), Some(&typed), false),
            (Write::Set(&sent), None, false),
            (Write::Merged(&sent), Some(&more), true),
            (Write::Merged(&sent), Some(&other), false),
            (Write::Merged(&sent), None, false),
            (Write::Deleted("p", "r"), None, true),
            (Write::Deleted("p", "r"), Some(&same), false),
        ] {
            assert_eq!(write.is_in(found), own, "{write:?} {found:?}");
        }
    }
}
