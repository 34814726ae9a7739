//! Detects a retried write that met the effect of its own earlier attempt, by reading back. [`UnknownOutcome`] enables
//! it.
//!
//! ```text
//! attempt 1: insert ──▶ done ──▶ the answer is lost
//! attempt 2: insert ──▶ 409, because of attempt 1
//! read back: the entity has the sent properties, or the sent write stamp ──▶ success
//! ```
//!
//! [`UnknownOutcome`]: crate::UnknownOutcome

use super::write_proof::{Proof, has_stamp};
use super::{TableClient, UpdateMode};
use crate::{ETag, Entity, Error, Result};

/// A write, described by its effect, which can be read back.
#[derive(Debug, Clone, Copy)]
pub(super) enum Write<'a> {
    /// The entity has exactly these properties.
    Set(&'a Entity),
    /// The entity has at least these properties.
    Merged(&'a Entity),
    /// The entity with these keys does not exist.
    Deleted(&'a str, &'a str),
}

impl<'a> Write<'a> {
    pub(super) const fn of_mode(entity: &'a Entity, mode: UpdateMode) -> Self {
        match mode {
            UpdateMode::Merge => Self::Merged(entity),
            UpdateMode::Replace => Self::Set(entity),
        }
    }

    pub(super) const fn keys(&self) -> (&'a str, &'a str) {
        match self {
            Self::Set(entity) | Self::Merged(entity) => {
                (entity.partition_key.as_str(), entity.row_key.as_str())
            }
            Self::Deleted(partition_key, row_key) => (partition_key, row_key),
        }
    }

    /// Whether the stored entity proves that the write happened.
    fn is_proven(&self, stored: Option<&Entity>, proof: Proof) -> bool {
        match (self, stored, proof) {
            (Self::Set(_) | Self::Merged(_), Some(stored), Proof::Stamp(stamp)) => {
                has_stamp(stored, stamp)
            }
            (write, stored, _) => write.matches(stored),
        }
    }

    /// Whether the stored entity matches the result of the write.
    fn matches(&self, stored: Option<&Entity>) -> bool {
        match (self, stored) {
            (Self::Deleted(..), stored) => stored.is_none(),
            (Self::Set(sent), Some(stored)) => {
                sent.len() == stored.len() && is_subset(sent, stored)
            }
            (Self::Merged(sent), Some(stored)) => is_subset(sent, stored),
            (Self::Set(_) | Self::Merged(_), None) => false,
        }
    }
}

/// Whether `stored` has each property of `sent`.
fn is_subset(sent: &Entity, stored: &Entity) -> bool {
    sent.iter()
        .all(|(name, value)| stored.get(name).is_some_and(|stored| value.is_same(stored)))
}

impl TableClient {
    /// The ETag of the entity if the failed write did happen; otherwise the write's error.
    pub(super) async fn read_back(
        &self,
        failed: Error,
        write: &Write<'_>,
        proof: Option<Proof>,
    ) -> Result<ETag> {
        let etags = self.read_all_back(&failed, std::slice::from_ref(write), proof);
        match etags.await {
            Some(mut etags) => Ok(etags.pop().flatten().unwrap_or_else(|| ETag::from(""))),
            None => Err(failed),
        }
    }

    /// The ETags of all written entities if the failed writes did happen. Deletions alone prove nothing: another client
    /// may have deleted the entities.
    pub(super) async fn read_all_back(
        &self,
        failed: &Error,
        writes: &[Write<'_>],
        proof: Option<Proof>,
    ) -> Option<Vec<Option<ETag>>> {
        let proof = proof?;
        let may_be_own = failed.is_ambiguous() && matches!(failed.status(), Some(404 | 409 | 412));
        let proves = writes
            .iter()
            .any(|write| !matches!(write, Write::Deleted(..)));
        if !may_be_own || !proves {
            return None;
        }
        // The secondary may not have the write yet.
        let mut primary = self.clone();
        primary.reads_secondary = false;
        let mut etags = Vec::with_capacity(writes.len());
        for write in writes {
            let (partition_key, row_key) = write.keys();
            if let (Write::Deleted(..), Proof::Stamp(_)) = (write, proof) {
                // The stamps of the entities that the transaction wrote prove its deletions too.
                etags.push(None);
                continue;
            }
            // If reading fails, the outcome stays unknown, as the write's error states.
            let stored = primary
                .get_entity_if_exists(partition_key, row_key)
                .await
                .ok()?;
            if !write.is_proven(stored.as_ref(), proof) {
                return None;
            }
            etags.push(stored.and_then(|entity| entity.etag));
        }
        tracing::debug!(writes = writes.len(), "an earlier attempt had succeeded");
        Some(etags)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_writes_are_recognised() {
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
            assert_eq!(write.matches(found), own, "{write:?} {found:?}");
        }
    }
}
