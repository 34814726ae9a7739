//! What a server found out about its object store at the start.

/// What a server knows about its object store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RemoteStore {
    /// The id of the store.
    pub(crate) id: String,
    /// How far the clock of this machine was ahead of the store's at the start, in seconds.
    pub(crate) clock_ahead_seconds: i64,
}

/// A difference of clocks that is worth a note, in seconds.
const CLOCK_DIFFERENCE: u64 = 5;

impl RemoteStore {
    /// What an operator should know about the clocks, if they differ by more than five seconds.
    pub(crate) fn clock_note(&self) -> Option<String> {
        let seconds = self.clock_ahead_seconds.unsigned_abs();
        let side = match self.clock_ahead_seconds > 0 {
            true => "ahead of",
            false => "behind",
        };
        (seconds > CLOCK_DIFFERENCE).then(|| {
            format!("the clock of this machine was {seconds}s {side} the store's at the start: check both clocks")
        })
    }
}
