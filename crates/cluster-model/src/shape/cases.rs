//! The scenarios of splits and merges, and what removing each of their rules does.

use crate::{
    Rule,
    case::{Case, Row},
    check::{Expected, exploring, recovers},
};

use super::{
    Bounds, Shape,
    state::{LEFT, RIGHT, State, VERSIONS, WHOLE},
};

const LOST: Expected = Expected::Fails("acknowledged-write-lost");
const DENIED: Expected = Expected::Fails("served-against-the-map");
const OLD_SAVE: Expected = Expected::Fails("believes-an-old-save");
const HOLDS: Expected = Expected::Holds;

const SPLIT: Bounds = Bounds {
    before: &[WHOLE],
    after: &[LEFT, RIGHT],
    right_at: 0,
    terms: 2,
    writes: 2,
    begins: 1,
    expiries: 1,
    moves: 0,
    saves: 0,
    prunes: false,
};
const SPLIT_AGAIN: Bounds = Bounds {
    writes: 1,
    begins: 2,
    ..SPLIT
};
const SPLIT_AND_MOVE: Bounds = Bounds {
    writes: 3,
    begins: 2,
    moves: 1,
    ..SPLIT
};
const SPLIT_PRUNED: Bounds = Bounds {
    writes: 1,
    expiries: 0,
    saves: 6,
    prunes: true,
    ..SPLIT
};
const SPLIT_THREE_TERMS: Bounds = Bounds {
    writes: 1,
    begins: 2,
    terms: 3,
    ..SPLIT
};
const MERGE: Bounds = Bounds {
    before: &[LEFT, RIGHT],
    after: &[WHOLE],
    ..SPLIT
};
const MERGE_APART: Bounds = Bounds {
    right_at: 1,
    moves: 1,
    terms: 1,
    ..MERGE
};

fn rows(scenario: &'static str, bounds: Bounds, rows: &[Row]) -> Vec<Case> {
    let run = exploring(move |rules| Shape { bounds, rules });
    Case::of_scenario("shape", scenario, rows, run)
}

/// All cases of changes of shape.
pub(crate) fn cases() -> Vec<Case> {
    let mut cases = split_cases();
    cases.extend(map_cases());
    cases.extend(merge_cases());
    cases.extend([
        recovery(
            "split and failover, recovery",
            SPLIT,
            &[],
            Expected::Recovers,
        ),
        recovery(
            "split and failover, recovery",
            SPLIT,
            &[Rule::ChangeNamesTenure],
            Expected::Stuck,
        ),
        recovery(
            "merge and failover, recovery",
            MERGE,
            &[],
            Expected::Recovers,
        ),
    ]);
    cases
}

/// One split, with a failover of the managers and one of the hosts.
fn split_cases() -> Vec<Case> {
    let split: &[Row] = &[
        (&[], HOLDS),
        (&[Rule::NewestRecordDecides], DENIED),
        (&[Rule::DecisionPutIfAbsent], DENIED),
        (&[Rule::ThawedAfterUndone], DENIED),
        (&[Rule::NewManagerSaves], LOST),
        (&[Rule::FirstSaveIsOwn], DENIED),
        (&[Rule::TermCompared], DENIED),
        (&[Rule::AssignedAfterDecision], DENIED),
        (&[Rule::KeysInStepBeforeAssigned], DENIED),
        (&[Rule::ChangeNamesTenure], DENIED),
        (&[Rule::WritesEndBeforeCopy], LOST),
        (&[Rule::CopiedBeforeDecision], LOST),
    ];
    let mut cases = rows("split and failover", SPLIT, split);
    cases.extend(rows(
        "two splits and failover",
        SPLIT_AGAIN,
        &[(&[], HOLDS)],
    ));
    cases.extend(rows(
        "split, move and failover",
        SPLIT_AND_MOVE,
        &[(&[], HOLDS)],
    ));
    cases
}

/// Numbers of the map that are used again after pruning, and managers of three terms.
fn map_cases() -> Vec<Case> {
    let pruned: &[Row] = &[
        (&[], HOLDS),
        (&[Rule::ManagerListsAfterSave], OLD_SAVE),
        (&[Rule::HostListsAfterDecision], DENIED),
    ];
    let three_terms: &[Row] = &[(&[], HOLDS), (&[Rule::TermConfirmedBeforeSave], DENIED)];
    let mut cases = rows("split, records pruned", SPLIT_PRUNED, pruned);
    cases.extend(rows("split, three terms", SPLIT_THREE_TERMS, three_terms));
    cases
}

/// A merge, whose right range is moved to the server of the left one first.
fn merge_cases() -> Vec<Case> {
    let apart: &[Row] = &[
        (&[], HOLDS),
        (&[Rule::ChangeNamesTenure], DENIED),
        (&[Rule::ChangeOnOneHost], DENIED),
        (&[Rule::FrozenNotMoved], HOLDS),
    ];
    let two_terms = Bounds {
        terms: 2,
        ..MERGE_APART
    };
    let mut cases = rows("merge and failover", MERGE, &[(&[], HOLDS)]);
    cases.extend(rows("merge after a move, failover", MERGE_APART, apart));
    cases.extend(rows(
        "merge after a move, two terms",
        two_terms,
        &[(&[], HOLDS)],
    ));
    cases
}

/// While terms and numbers are left, every key can be served again.
fn recovery(
    scenario: &'static str,
    bounds: Bounds,
    without: &'static [Rule],
    expected: Expected,
) -> Case {
    let bounds = Bounds {
        writes: 0,
        terms: 3,
        ..bounds
    };
    let relevant =
        move |state: &State| state.counts.terms < bounds.terms && state.newest().0 + 3 < VERSIONS;
    Case::new("shape", scenario, without, expected, move |rules, _| {
        let model = Shape { bounds, rules };
        recovers(&model, relevant, |state| model.serves(state))
    })
}
