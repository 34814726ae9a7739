//! Bugs that tests plant: each drops one rule of the log, to show that the tests find it. Without tests nothing is
//! dropped, except by the feature `planted-bugs`. `docs/design/0007-cluster-model.md` has the rules.

/// A rule of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// A number is created once: a PUT never replaces an object.
    PutIfAbsent,
    /// A group is acknowledged after its object was created.
    DurableBeforeAcknowledged,
    /// "Already exists" counts as success only when the object has the own nonce.
    NonceCompared,
    /// A group is acknowledged only after every group before it was created.
    #[cfg(test)]
    AcknowledgedInOrder,
    /// The floor in a header is never above the first number that is not acknowledged.
    #[cfg(test)]
    FloorOfAcknowledged,
    /// An object is deleted only while an acknowledged group has a floor above it.
    DeletedBelowFloor,
    /// A log is sealed before it is read.
    SealedBeforeReplay,
    /// A seal goes to the lowest free number at or above the floor of the highest group.
    SealAboveFloor,
    /// After putting a seal, the sealer lists again.
    ListedAfterSeal,
    /// Seals below the floor mean nothing.
    LowSealsIgnored,
}

#[cfg(test)]
thread_local! {
    static DROPPED: std::cell::Cell<Option<Rule>> = const { std::cell::Cell::new(None) };
}

/// Drops a rule on this thread, or none.
#[cfg(test)]
pub(super) fn drop_rule(rule: Option<Rule>) {
    DROPPED.set(rule);
}

/// Whether the rule holds.
#[cfg(test)]
pub(super) fn keeps(rule: Rule) -> bool {
    DROPPED.get() != Some(rule)
}

/// Whether the rule holds: unless the planted bug `cluster-no-seal` drops it.
#[cfg(all(not(test), feature = "planted-bugs"))]
pub(super) fn keeps(rule: Rule) -> bool {
    rule != Rule::SealedBeforeReplay || !crate::planted::is_active("cluster-no-seal")
}

/// Whether the rule holds: always.
#[cfg(not(any(test, feature = "planted-bugs")))]
pub(super) const fn keeps(_: Rule) -> bool {
    true
}
