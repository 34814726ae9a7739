//! The scenarios of ownership, and what removing each of its rules does.

use crate::{
    Rule,
    case::Case,
    check::{Expected, explore, recovers},
};

use super::{Bounds, Ownership, state::State};

const LOST: Expected = Expected::Fails("acknowledged-write-lost");
const STALE: Expected = Expected::Fails("stale-read");
const FENCED: Expected = Expected::Fails("right-owner-fenced");
const TWO_OWNERS: Expected = Expected::Fails("two-owners-pass-the-gate");
const HOLDS: Expected = Expected::Holds;

const NONE: Bounds = Bounds {
    writes: 0,
    reads: 0,
    crashes: 0,
    moves: 0,
    assignments: 2,
    expels: 0,
    wipes: 0,
    terms: 1,
    joins: 0,
    collects: false,
    repeats: false,
    clock_broken: false,
    confirmed: false,
};
/// A lease expires; the old owner goes on as far as it can, and joins again.
const FAILOVER: Bounds = Bounds {
    writes: 2,
    reads: 1,
    joins: 1,
    ..NONE
};
const LONG_FAILOVER: Bounds = Bounds {
    writes: 1,
    reads: 0,
    assignments: 3,
    ..FAILOVER
};
const MOVE: Bounds = Bounds {
    writes: 2,
    reads: 1,
    moves: 2,
    ..NONE
};
const MANAGERS: Bounds = Bounds {
    writes: 1,
    assignments: 3,
    terms: 2,
    moves: 1,
    joins: 1,
    ..NONE
};
const COLLECT: Bounds = Bounds {
    collects: true,
    ..FAILOVER
};
const SLOW_CLOCK: Bounds = Bounds {
    clock_broken: true,
    ..FAILOVER
};
const WIPE: Bounds = Bounds {
    writes: 1,
    terms: 2,
    joins: 1,
    wipes: 1,
    ..NONE
};
const RESTARTS: Bounds = Bounds {
    crashes: 2,
    moves: 1,
    assignments: 3,
    joins: 2,
    ..NONE
};

fn case(
    scenario: &'static str,
    bounds: Bounds,
    without: &'static [Rule],
    expected: Expected,
) -> Case {
    Case::new(
        "ownership",
        scenario,
        without,
        expected,
        move |rules, expected| explore(Ownership { bounds, rules }, expected),
    )
}

/// All cases of ownership.
pub(crate) fn cases() -> Vec<Case> {
    let mut cases = vec![
        case("failover", FAILOVER, &[], HOLDS),
        case(
            "failover, two reads",
            Bounds {
                writes: 1,
                reads: 2,
                ..FAILOVER
            },
            &[],
            HOLDS,
        ),
        case("failover, logs collected", COLLECT, &[], HOLDS),
        case("move", MOVE, &[], HOLDS),
        case("two managers", MANAGERS, &[], HOLDS),
        case(
            "crash and restart",
            Bounds {
                writes: 1,
                crashes: 1,
                joins: 2,
                ..FAILOVER
            },
            &[],
            HOLDS,
        ),
        case(
            "transaction repeated",
            Bounds {
                repeats: true,
                ..LONG_FAILOVER
            },
            &[],
            HOLDS,
        ),
        case(
            "expel",
            Bounds {
                expels: 1,
                ..FAILOVER
            },
            &[],
            HOLDS,
        ),
        case("wipe", WIPE, &[], HOLDS),
        case(
            "wipe, read",
            Bounds {
                reads: 1,
                assignments: 1,
                ..WIPE
            },
            &[],
            HOLDS,
        ),
        // Writes need no clock; reads do, unless each is confirmed by etcd.
        case(
            "slow clock, writes",
            Bounds {
                reads: 0,
                ..SLOW_CLOCK
            },
            &[],
            HOLDS,
        ),
        case("slow clock", SLOW_CLOCK, &[], STALE),
        case(
            "slow clock, confirmed reads",
            Bounds {
                confirmed: true,
                ..SLOW_CLOCK
            },
            &[],
            HOLDS,
        ),
        case(
            "slow clock, confirmed reads",
            Bounds {
                confirmed: true,
                ..SLOW_CLOCK
            },
            &[Rule::ConfirmedAfterBegin],
            STALE,
        ),
    ];
    cases.extend(log_cases());
    cases.extend(key_cases());
    cases.extend(gate_cases());
    cases.extend([
        recovery("restarts", RESTARTS, &[], Expected::Recovers),
        recovery(
            "restarts",
            RESTARTS,
            &[Rule::OldLifeNotName],
            Expected::Stuck,
        ),
    ]);
    cases
}

/// I1: the log and its seal. The gate covers the seal, so each is also removed together with the gate.
fn log_cases() -> Vec<Case> {
    vec![
        case("failover", FAILOVER, &[Rule::SealedBeforeReplay], HOLDS),
        case(
            "failover",
            FAILOVER,
            &[Rule::SealedBeforeReplay, Rule::AcknowledgementsGated],
            LOST,
        ),
        case(
            "slow clock, writes",
            Bounds {
                reads: 0,
                ..SLOW_CLOCK
            },
            &[Rule::SealedBeforeReplay],
            LOST,
        ),
        case("failover", FAILOVER, &[Rule::PutIfAbsent], HOLDS),
        case(
            "failover",
            FAILOVER,
            &[Rule::PutIfAbsent, Rule::AcknowledgementsGated],
            LOST,
        ),
        case(
            "failover, logs collected",
            COLLECT,
            &[Rule::SealsKept],
            HOLDS,
        ),
        case(
            "failover, logs collected",
            COLLECT,
            &[Rule::SealsKept, Rule::AcknowledgementsGated],
            LOST,
        ),
        case("failover", FAILOVER, &[Rule::AcknowledgementsGated], HOLDS),
        case(
            "failover",
            FAILOVER,
            &[Rule::DurableBeforeAcknowledged],
            LOST,
        ),
        case("failover", FAILOVER, &[Rule::FlushedBeforeServing], LOST),
        case(
            "failover, two reads",
            Bounds {
                writes: 1,
                reads: 2,
                ..FAILOVER
            },
            &[Rule::OnlyDurableRowsRead],
            STALE,
        ),
    ]
}

/// I2 to I4: the manifest's epoch, assignment, activation, release; an empty etcd.
fn key_cases() -> Vec<Case> {
    vec![
        case(
            "long failover",
            LONG_FAILOVER,
            &[Rule::AssignmentChecked],
            FENCED,
        ),
        case(
            "long failover",
            LONG_FAILOVER,
            &[Rule::EpochReadBeforeCheck],
            FENCED,
        ),
        case(
            "long failover",
            LONG_FAILOVER,
            &[Rule::ClaimsNextEpoch],
            FENCED,
        ),
        case("two managers", MANAGERS, &[Rule::TermCompared], HOLDS),
        case(
            "two managers",
            MANAGERS,
            &[Rule::AssignmentComparesRevision],
            HOLDS,
        ),
        case(
            "two managers",
            MANAGERS,
            &[Rule::TermCompared, Rule::AssignmentComparesRevision],
            TWO_OWNERS,
        ),
        case(
            "transaction repeated",
            Bounds {
                repeats: true,
                ..LONG_FAILOVER
            },
            &[Rule::AssignmentComparesRevision],
            TWO_OWNERS,
        ),
        case("failover", FAILOVER, &[Rule::OldOwnerGone], TWO_OWNERS),
        // A range that is being opened may be assigned anew, as long as activation compares the revision.
        case(
            "long failover",
            LONG_FAILOVER,
            &[Rule::OpeningNotReassigned],
            HOLDS,
        ),
        case(
            "long failover",
            LONG_FAILOVER,
            &[Rule::OpeningNotReassigned, Rule::ActivationComparesRevision],
            FENCED,
        ),
        case(
            "failover",
            FAILOVER,
            &[Rule::ActivationComparesRevision],
            HOLDS,
        ),
        case(
            "failover",
            FAILOVER,
            &[Rule::ActivationComparesLease],
            HOLDS,
        ),
        case(
            "failover",
            FAILOVER,
            &[
                Rule::ActivationComparesRevision,
                Rule::ActivationComparesLease,
            ],
            LOST,
        ),
        case(
            "moves and failover",
            Bounds {
                writes: 1,
                assignments: 3,
                joins: 1,
                moves: 1,
                ..MOVE
            },
            &[Rule::ReleaseComparesRevision],
            TWO_OWNERS,
        ),
        case(
            "expel",
            Bounds {
                expels: 1,
                ..FAILOVER
            },
            &[Rule::WaitsForDeadline],
            TWO_OWNERS,
        ),
        case("wipe", WIPE, &[Rule::WaitsForDeadline], TWO_OWNERS),
        case("wipe", WIPE, &[Rule::SealedLogsReplayedAfterWipe], LOST),
    ]
}

/// I5: the gate of reads.
fn gate_cases() -> Vec<Case> {
    vec![
        case("failover", FAILOVER, &[Rule::ReadsGated], STALE),
        case("failover", FAILOVER, &[Rule::GateOfOpeningLife], STALE),
        // A read whose gate was open when it began may be ordered before whatever the next owner did.
        case("failover", FAILOVER, &[Rule::GateAfterWork], HOLDS),
        case(
            "failover, two reads",
            Bounds {
                writes: 1,
                reads: 2,
                ..FAILOVER
            },
            &[Rule::GateAfterWork],
            HOLDS,
        ),
    ]
}

/// A process lives and etcd knows it, and assignments are left: then the range can be served again.
fn recovery(
    scenario: &'static str,
    bounds: Bounds,
    without: &'static [Rule],
    expected: Expected,
) -> Case {
    let relevant = move |state: &State| {
        let known =
            (0..state.hosts.len()).any(|life| state.leases[life] && state.hosts[life].alive);
        let served = state.hosts.iter().any(super::state::Host::serves);
        state.counts.assignments < 2 && state.counts.crashes == bounds.crashes && known && !served
    };
    let served = |state: &State| state.server().is_some_and(|life| state.leases[life]);
    Case::new("ownership", scenario, without, expected, move |rules, _| {
        recovers(&Ownership { bounds, rules }, relevant, served)
    })
}
