//! The scenarios of ownership, and what removing each of its rules does.

use crate::{
    Rule,
    case::{Case, Row},
    check::{Expected, exploring, recovers},
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
const TWO_READS: Bounds = Bounds {
    writes: 1,
    reads: 2,
    ..FAILOVER
};
const LONG_FAILOVER: Bounds = Bounds {
    writes: 1,
    reads: 0,
    assignments: 3,
    ..FAILOVER
};
const REPEATS: Bounds = Bounds {
    repeats: true,
    ..LONG_FAILOVER
};
const MOVE: Bounds = Bounds {
    writes: 2,
    reads: 1,
    moves: 2,
    ..NONE
};
const MOVE_AND_FAILOVER: Bounds = Bounds {
    writes: 1,
    assignments: 3,
    joins: 1,
    moves: 1,
    ..MOVE
};
const MANAGERS: Bounds = Bounds {
    writes: 1,
    assignments: 3,
    terms: 2,
    moves: 1,
    joins: 1,
    ..NONE
};
const CRASH: Bounds = Bounds {
    writes: 1,
    crashes: 1,
    joins: 2,
    ..FAILOVER
};
const COLLECT: Bounds = Bounds {
    collects: true,
    ..FAILOVER
};
const EXPEL: Bounds = Bounds {
    expels: 1,
    ..FAILOVER
};
const SLOW_CLOCK: Bounds = Bounds {
    clock_broken: true,
    ..FAILOVER
};
const CONFIRMED: Bounds = Bounds {
    writes: 1,
    confirmed: true,
    ..SLOW_CLOCK
};
const WIPE: Bounds = Bounds {
    writes: 1,
    terms: 2,
    joins: 1,
    wipes: 1,
    ..NONE
};
const WIPE_AND_READ: Bounds = Bounds {
    reads: 1,
    assignments: 1,
    ..WIPE
};
const RESTARTS: Bounds = Bounds {
    crashes: 2,
    moves: 1,
    assignments: 3,
    joins: 2,
    ..NONE
};

fn rows(scenario: &'static str, bounds: Bounds, rows: &[Row]) -> Vec<Case> {
    let run = exploring(move |rules| Ownership { bounds, rules });
    Case::of_scenario("ownership", scenario, rows, run)
}

/// All cases of ownership.
pub(crate) fn cases() -> Vec<Case> {
    let mut cases = failover_cases();
    cases.extend(long_cases());
    cases.extend(fault_cases());
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

/// One failover. The gate covers the seal, so the rules of I1 are also removed together with the gate.
fn failover_cases() -> Vec<Case> {
    let one_read: &[Row] = &[
        (&[], HOLDS),
        // I1: the log and its seal.
        (&[Rule::SealedBeforeReplay], HOLDS),
        (
            &[Rule::SealedBeforeReplay, Rule::AcknowledgementsGated],
            LOST,
        ),
        (&[Rule::PutIfAbsent], HOLDS),
        (&[Rule::PutIfAbsent, Rule::AcknowledgementsGated], LOST),
        (&[Rule::AcknowledgementsGated], HOLDS),
        (&[Rule::DurableBeforeAcknowledged], LOST),
        (&[Rule::FlushedBeforeServing], LOST),
        // I3 and I4: assignment and activation.
        (&[Rule::OldOwnerGone], TWO_OWNERS),
        (&[Rule::ActivationComparesRevision], HOLDS),
        (&[Rule::ActivationComparesLease], HOLDS),
        (
            &[
                Rule::ActivationComparesRevision,
                Rule::ActivationComparesLease,
            ],
            LOST,
        ),
        // I5: a read whose gate was open when it began may be ordered before what the next owner did.
        (&[Rule::ReadsGated], STALE),
        (&[Rule::GateOfOpeningLife], STALE),
        (&[Rule::GateAfterWork], HOLDS),
    ];
    let two_reads: &[Row] = &[
        (&[], HOLDS),
        (&[Rule::OnlyDurableRowsRead], STALE),
        (&[Rule::GateAfterWork], HOLDS),
    ];
    let collected: &[Row] = &[
        (&[], HOLDS),
        (&[Rule::SealsKept], HOLDS),
        (&[Rule::SealsKept, Rule::AcknowledgementsGated], LOST),
    ];
    let mut cases = rows("failover", FAILOVER, one_read);
    cases.extend(rows("failover, two reads", TWO_READS, two_reads));
    cases.extend(rows("failover, logs collected", COLLECT, collected));
    cases
}

/// I2 to I4: the manifest's epoch, assignment, activation and release, over several assignments.
fn long_cases() -> Vec<Case> {
    let long: &[Row] = &[
        (&[Rule::AssignmentChecked], FENCED),
        (&[Rule::EpochReadBeforeCheck], FENCED),
        (&[Rule::ClaimsNextEpoch], FENCED),
        // A range that is being opened may be assigned anew, as long as activation compares the revision.
        (&[Rule::OpeningNotReassigned], HOLDS),
        (
            &[Rule::OpeningNotReassigned, Rule::ActivationComparesRevision],
            FENCED,
        ),
    ];
    let managers: &[Row] = &[
        (&[], HOLDS),
        (&[Rule::TermCompared], HOLDS),
        (&[Rule::AssignmentComparesRevision], HOLDS),
        (
            &[Rule::TermCompared, Rule::AssignmentComparesRevision],
            TWO_OWNERS,
        ),
    ];
    let repeated: &[Row] = &[
        (&[], HOLDS),
        (&[Rule::AssignmentComparesRevision], TWO_OWNERS),
    ];
    let mut cases = rows("long failover", LONG_FAILOVER, long);
    cases.extend(rows("two managers", MANAGERS, managers));
    cases.extend(rows("transaction repeated", REPEATS, repeated));
    cases.extend(rows("move", MOVE, &[(&[], HOLDS)]));
    cases.extend(rows(
        "moves and failover",
        MOVE_AND_FAILOVER,
        &[(&[Rule::ReleaseComparesRevision], TWO_OWNERS)],
    ));
    cases.extend(rows("crash and restart", CRASH, &[(&[], HOLDS)]));
    cases
}

/// Expulsion, a wiped etcd, and a clock that is slow without bound.
fn fault_cases() -> Vec<Case> {
    let wipe: &[Row] = &[
        (&[], HOLDS),
        (&[Rule::WaitsForDeadline], TWO_OWNERS),
        (&[Rule::SealedLogsReplayedAfterWipe], LOST),
    ];
    // Writes need no clock; reads do, unless each is confirmed by etcd.
    let writes: &[Row] = &[(&[], HOLDS), (&[Rule::SealedBeforeReplay], LOST)];
    let confirmed: &[Row] = &[(&[], HOLDS), (&[Rule::ConfirmedAfterBegin], STALE)];
    let expel: &[Row] = &[(&[], HOLDS), (&[Rule::WaitsForDeadline], TWO_OWNERS)];
    let mut cases = rows("expel", EXPEL, expel);
    cases.extend(rows("wipe", WIPE, wipe));
    cases.extend(rows("wipe, read", WIPE_AND_READ, &[(&[], HOLDS)]));
    cases.extend(rows(
        "slow clock, writes",
        Bounds {
            reads: 0,
            ..SLOW_CLOCK
        },
        writes,
    ));
    cases.extend(rows("slow clock", SLOW_CLOCK, &[(&[], STALE)]));
    cases.extend(rows("slow clock, confirmed reads", CONFIRMED, confirmed));
    cases
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
