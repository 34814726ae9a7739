//! The proof that a write happened, for a write that may have met the effect of its own earlier attempt.

use crate::{Entity, UnknownOutcome};
use partita_model::{Guid, Value};
use std::borrow::Cow;

/// The property of [`UnknownOutcome::WriteStamp`].
const WRITE_STAMP: &str = "WriteStamp";

/// How an entity that was read back proves that a write happened.
#[derive(Debug, Clone, Copy)]
pub(super) enum Proof {
    /// It has the written content.
    Content,
    /// It has this write stamp.
    Stamp(Guid),
}

impl Proof {
    /// The proof for one write; `None` if the client does not look for one.
    pub(super) fn of_write(choice: UnknownOutcome) -> Option<Self> {
        match choice {
            UnknownOutcome::Report => None,
            UnknownOutcome::AssumeFromEqualContent => Some(Self::Content),
            UnknownOutcome::WriteStamp => Some(Self::Stamp(Guid(fastrand::u128(..).to_be_bytes()))),
        }
    }
}

/// The entity with the stamp of its write, if there is one.
pub(super) fn stamped(entity: &Entity, proof: Option<Proof>) -> Cow<'_, Entity> {
    match proof {
        Some(Proof::Stamp(stamp)) => {
            let mut entity = entity.clone();
            entity.insert(WRITE_STAMP, stamp);
            Cow::Owned(entity)
        }
        _ => Cow::Borrowed(entity),
    }
}

/// Whether the stored entity has this stamp.
pub(super) fn has_stamp(stored: &Entity, stamp: Guid) -> bool {
    stored.get(WRITE_STAMP) == Some(&Value::Guid(stamp))
}
