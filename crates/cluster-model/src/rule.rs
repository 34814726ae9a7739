//! The rules of the design, each of which a model can drop.

/// A rule of the design. The names are those of `docs/design/0007-cluster-model.md`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Rule {
    // The log of a process life.
    /// A number of the log is created once: a PUT never replaces a seal.
    PutIfAbsent,
    /// A group is acknowledged only after every group before it was created.
    AcknowledgedInOrder,
    /// "Already exists" counts as success only when the object has the writer's own nonce.
    NonceCompared,
    /// The floor in a header is never above the first number that is not acknowledged.
    FloorOfAcknowledged,
    /// An object is deleted only while an existing acknowledged group has a floor above it.
    DeletedBelowFloor,
    /// A log is sealed before it is replayed.
    SealedBeforeReplay,
    /// A seal goes to the lowest free number at or above the floor of the highest group.
    SealAboveFloor,
    /// After putting a seal, the sealer lists again, until the list shows the log sealed.
    ListedAfterSeal,
    /// Seals below the floor mean nothing to the replay.
    LowSealsIgnored,

    // Ownership of a range: I1 to I5.
    /// A write is acknowledged after its group is durable.
    DurableBeforeAcknowledged,
    /// The seal of a collected log stays.
    SealsKept,
    /// A new owner flushes what it replayed before it serves.
    FlushedBeforeServing,
    /// Reads and refusals see only durable rows.
    OnlyDurableRowsRead,
    /// I2: a take-over checks in etcd that the range is still assigned to it.
    AssignmentChecked,
    /// I2: it reads the manifest's epoch before that check.
    EpochReadBeforeCheck,
    /// I2: it claims exactly the next epoch, or fails.
    ClaimsNextEpoch,
    /// I3: the transaction of an assignment compares the manager's term.
    TermCompared,
    /// I3: it compares the revision of the range's key.
    AssignmentComparesRevision,
    /// I3: it requires that the old owner is gone, or released the range.
    OldOwnerGone,
    /// I3: "gone" compares the old owner's life, not its name.
    OldLifeNotName,
    /// I3: a range that a living host opens is not assigned to another.
    OpeningNotReassigned,
    /// I3: a release compares the revision of the own activation.
    ReleaseComparesRevision,
    /// I4: activation compares the revision of the assignment.
    ActivationComparesRevision,
    /// I4: activation requires the lease of the own life.
    ActivationComparesLease,
    /// I5: answers to writes wait for a valid lease.
    AcknowledgementsGated,
    /// I5: answers to reads wait for a valid lease.
    ReadsGated,
    /// I5: the lease is looked at after the work.
    GateAfterWork,
    /// I5: only the lease of the life that opened the range counts.
    GateOfOpeningLife,
    /// I5: after an expulsion or a wipe nothing is assigned before every open gate has closed.
    WaitsForDeadline,
    /// A confirmed read waits for a keepalive that was sent after it began.
    ConfirmedAfterBegin,
    /// After a wipe of etcd, sealed logs that still have groups are replayed too.
    SealedLogsReplayedAfterWipe,

    // Split, merge and move: I6.
    /// A manager lists the map after each save; a newer record means that it saved a pruned number.
    ManagerListsAfterSave,
    /// A host lists the map after it put a decision, before it serves.
    HostListsAfterDecision,
    /// A newer record than the own decision says what is served; it does not mean that the change was undone.
    NewestRecordDecides,
    /// The decision is put-if-absent.
    DecisionPutIfAbsent,
    /// A frozen range takes writes again only after the change was undone in the map.
    ThawedAfterUndone,
    /// A new manager saves a record before it acts, which fences its predecessor.
    NewManagerSaves,
    /// It acts only when the record of that number is its own.
    FirstSaveIsOwn,
    /// Between its list and its first save it confirms its term in etcd.
    TermConfirmedBeforeSave,
    /// A range that changes shape is assigned only after the decision.
    AssignedAfterDecision,
    /// After the decision the keys are replaced before any is assigned.
    KeysInStepBeforeAssigned,
    /// A host starts a change only when it serves all ranges of it.
    ChangeOnOneHost,
    /// A request to change ranges names their tenures; a host of another tenure refuses it.
    ChangeNamesTenure,
    /// Writes in flight end before a frozen range is copied.
    WritesEndBeforeCopy,
    /// The copy is durable before the decision is put.
    CopiedBeforeDecision,
    /// A host does not give away a range that a change has frozen.
    FrozenNotMoved,

    // Forwarding, holding and caches.
    /// A write whose connection broke after it was sent is not sent again.
    WriteSentOnce,
    /// Such a write is answered as unknown, never as refused.
    SentWriteIsUnknown,
    /// An owner that loses the range answers a submitted write as unknown, never by 421.
    SubmittedWriteIsUnknown,
    /// A read whose connection broke is sent again.
    ReadSentAgain,
    /// After a 421 a front waits until its map has the revision that the 421 names.
    WaitsForRevision,
    /// A request names the tenure, and a host of another tenure answers 421.
    TenureNamed,
    /// A cached row is found only by requests of the tenure that it was read in.
    CacheByTenure,
    /// A read fills the cache of the tenure that it began in, not of the one that is served when it ends.
    CacheFilledByTenure,
}

impl Rule {
    /// Every rule.
    #[cfg(test)]
    pub(crate) const ALL: [Self; 54] = [
        Self::PutIfAbsent,
        Self::AcknowledgedInOrder,
        Self::NonceCompared,
        Self::FloorOfAcknowledged,
        Self::DeletedBelowFloor,
        Self::SealedBeforeReplay,
        Self::SealAboveFloor,
        Self::ListedAfterSeal,
        Self::LowSealsIgnored,
        Self::DurableBeforeAcknowledged,
        Self::SealsKept,
        Self::FlushedBeforeServing,
        Self::OnlyDurableRowsRead,
        Self::AssignmentChecked,
        Self::EpochReadBeforeCheck,
        Self::ClaimsNextEpoch,
        Self::TermCompared,
        Self::AssignmentComparesRevision,
        Self::OldOwnerGone,
        Self::OldLifeNotName,
        Self::OpeningNotReassigned,
        Self::ReleaseComparesRevision,
        Self::ActivationComparesRevision,
        Self::ActivationComparesLease,
        Self::AcknowledgementsGated,
        Self::ReadsGated,
        Self::GateAfterWork,
        Self::GateOfOpeningLife,
        Self::WaitsForDeadline,
        Self::ConfirmedAfterBegin,
        Self::SealedLogsReplayedAfterWipe,
        Self::ManagerListsAfterSave,
        Self::HostListsAfterDecision,
        Self::NewestRecordDecides,
        Self::DecisionPutIfAbsent,
        Self::ThawedAfterUndone,
        Self::NewManagerSaves,
        Self::FirstSaveIsOwn,
        Self::TermConfirmedBeforeSave,
        Self::AssignedAfterDecision,
        Self::KeysInStepBeforeAssigned,
        Self::ChangeOnOneHost,
        Self::ChangeNamesTenure,
        Self::WritesEndBeforeCopy,
        Self::CopiedBeforeDecision,
        Self::FrozenNotMoved,
        Self::WriteSentOnce,
        Self::SentWriteIsUnknown,
        Self::SubmittedWriteIsUnknown,
        Self::ReadSentAgain,
        Self::WaitsForRevision,
        Self::TenureNamed,
        Self::CacheByTenure,
        Self::CacheFilledByTenure,
    ];
}

/// The set of rules that a model keeps.
#[derive(Clone, Copy, Default)]
pub(crate) struct Rules {
    removed: u128,
}

impl Rules {
    /// All rules except the given ones.
    pub(crate) fn without(removed: &[Rule]) -> Self {
        Self {
            removed: removed.iter().fold(0, |set, rule| set | 1 << *rule as u8),
        }
    }

    /// Whether the rule is in force.
    pub(crate) fn keep(self, rule: Rule) -> bool {
        self.removed >> rule as u8 & 1 == 0
    }
}
