//! The scenarios of splits and merges, and what removing each of their rules does.

use crate::{
    Rule,
    case::Case,
    check::{Expected, explore, recovers},
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

fn case(
    scenario: &'static str,
    bounds: Bounds,
    without: &'static [Rule],
    expected: Expected,
) -> Case {
    Case::new(
        "shape",
        scenario,
        without,
        expected,
        move |rules, expected| explore(Shape { bounds, rules }, expected),
    )
}

/// All cases of changes of shape.
pub(crate) fn cases() -> Vec<Case> {
    let mut cases = vec![
        case("split and failover", SPLIT, &[], HOLDS),
        case("split, move and failover", SPLIT_AND_MOVE, &[], HOLDS),
        case("two splits and failover", SPLIT_AGAIN, &[], HOLDS),
        case("split, three terms", SPLIT_THREE_TERMS, &[], HOLDS),
        case("split, records pruned", SPLIT_PRUNED, &[], HOLDS),
        case("merge and failover", MERGE, &[], HOLDS),
        case("merge after a move, failover", MERGE_APART, &[], HOLDS),
        case(
            "merge after a move, two terms",
            Bounds {
                terms: 2,
                ..MERGE_APART
            },
            &[],
            HOLDS,
        ),
    ];
    cases.extend([
        case(
            "split, records pruned",
            SPLIT_PRUNED,
            &[Rule::ManagerListsAfterSave],
            OLD_SAVE,
        ),
        case(
            "split, records pruned",
            SPLIT_PRUNED,
            &[Rule::HostListsAfterDecision],
            DENIED,
        ),
        case(
            "split, three terms",
            SPLIT_THREE_TERMS,
            &[Rule::TermConfirmedBeforeSave],
            DENIED,
        ),
        case(
            "split and failover",
            SPLIT,
            &[Rule::NewestRecordDecides],
            DENIED,
        ),
        case(
            "split and failover",
            SPLIT,
            &[Rule::DecisionPutIfAbsent],
            DENIED,
        ),
        case(
            "split and failover",
            SPLIT,
            &[Rule::ThawedAfterUndone],
            DENIED,
        ),
        case("split and failover", SPLIT, &[Rule::NewManagerSaves], LOST),
        case("split and failover", SPLIT, &[Rule::FirstSaveIsOwn], DENIED),
        case("split and failover", SPLIT, &[Rule::TermCompared], DENIED),
        case(
            "split and failover",
            SPLIT,
            &[Rule::AssignedAfterDecision],
            DENIED,
        ),
        case(
            "split and failover",
            SPLIT,
            &[Rule::KeysInStepBeforeAssigned],
            DENIED,
        ),
        case(
            "split and failover",
            SPLIT,
            &[Rule::WritesEndBeforeCopy],
            LOST,
        ),
        case(
            "split and failover",
            SPLIT,
            &[Rule::CopiedBeforeDecision],
            LOST,
        ),
        case(
            "split and failover",
            SPLIT,
            &[Rule::ChangeNamesTenure],
            DENIED,
        ),
        case(
            "merge after a move, failover",
            MERGE_APART,
            &[Rule::ChangeNamesTenure],
            DENIED,
        ),
        case(
            "merge after a move, failover",
            MERGE_APART,
            &[Rule::ChangeOnOneHost],
            DENIED,
        ),
        case(
            "merge after a move, failover",
            MERGE_APART,
            &[Rule::FrozenNotMoved],
            HOLDS,
        ),
    ]);
    let tenure: &[Rule] = &[Rule::ChangeNamesTenure];
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
            tenure,
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
