//! The choice of what a client does about a write that may have met the effect of its own earlier attempt.

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
