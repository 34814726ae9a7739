//! The scenarios of the log, and what removing each of its rules does.

use crate::{
    Rule,
    case::{Case, Row},
    check::{Expected, exploring},
};

use super::{Bounds, Log};

const LOST: Expected = Expected::Fails("acknowledged-group-lost");

fn case(scenario: &'static str, bounds: Bounds, row: Row) -> Case {
    let run = exploring(move |rules| Log { bounds, rules });
    Case::of_row("log", scenario, row, run)
}

/// All cases of the log.
pub(crate) fn cases() -> Vec<Case> {
    let one = Bounds {
        groups: 4,
        window: 1,
        hedged: false,
        deletes: true,
    };
    let two = Bounds { window: 2, ..one };
    let hedged = Bounds {
        groups: 3,
        hedged: true,
        ..two
    };
    let mut cases = vec![
        case("one in flight", one, (&[], Expected::Holds)),
        case("two in flight", two, (&[], Expected::Holds)),
        case("two in flight, hedged", hedged, (&[], Expected::Holds)),
        case("two in flight", two, (&[Rule::AcknowledgedInOrder], LOST)),
        case("two in flight", two, (&[Rule::FloorOfAcknowledged], LOST)),
        case(
            "two in flight, hedged",
            hedged,
            (&[Rule::NonceCompared], LOST),
        ),
    ];
    for (scenario, bounds) in [("one in flight", one), ("two in flight", two)] {
        cases.extend([
            case(scenario, bounds, (&[Rule::PutIfAbsent], LOST)),
            case(
                scenario,
                bounds,
                (
                    &[Rule::NonceCompared],
                    Expected::Fails("acknowledged-not-created"),
                ),
            ),
            case(scenario, bounds, (&[Rule::SealedBeforeReplay], LOST)),
            case(scenario, bounds, (&[Rule::ListedAfterSeal], LOST)),
            case(scenario, bounds, (&[Rule::SealAboveFloor], LOST)),
            case(scenario, bounds, (&[Rule::LowSealsIgnored], LOST)),
            case(scenario, bounds, (&[Rule::DeletedBelowFloor], LOST)),
        ]);
    }
    cases
}
