//! What the client does about a write that may have met the effect of its own earlier attempt.

use crate::Entity;
use partita_model::{Guid, Value};
use std::borrow::Cow;

/// The property of [`UnknownOutcome::WriteStamp`].
pub(super) const WRITE_STAMP: &str = "WriteStamp";

/// What a table client does if a write is answered with 409, 412 or 404 after an attempt that may have happened. The
/// answer may be the effect of that attempt, or of another client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum UnknownOutcome {
    /// The write fails with the answer and [`crate::Outcome::MayHaveHappened`]. The caller reads the data back, and
    /// decides.
    #[default]
    Report,
    /// The client reads the entities back. If they have the written content, the write succeeds. Only for data where
    /// it does not matter who wrote equal content, such as rows of an import: if two clients insert an equal lock row,
    /// both may succeed.
    AssumeFromEqualContent,
    /// The client adds the Guid property `WriteStamp` with a new random value to each written entity, and compares it
    /// when it reads the entities back. So a write succeeds only if it is this write. The property takes one of the 252
    /// of an entity, and remains stored.
    WriteStamp,
}

/// How an entity that was read back proves that a write happened.
#[derive(Debug, Clone, Copy)]
pub(super) enum Proof {
    /// It has the written content.
    Content,
    /// It has this write stamp.
    Stamp(Guid),
}

impl UnknownOutcome {
    /// The proof for one write; `None` if the client does not look for one.
    pub(super) fn proof(self) -> Option<Proof> {
        match self {
            Self::Report => None,
            Self::AssumeFromEqualContent => Some(Proof::Content),
            Self::WriteStamp => Some(Proof::Stamp(Guid(fastrand::u128(..).to_be_bytes()))),
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
