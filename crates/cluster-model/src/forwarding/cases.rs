//! The scenarios of forwarding, and what removing each of its rules does.

use crate::{
    Rule,
    case::{Case, Row},
    check::{Expected, exploring},
};

use super::{
    Bounds, Forwarding,
    state::Kind::{Read, Write},
};

const STALE: Expected = Expected::Fails("stale-read");
const TWICE: Expected = Expected::Fails("write-executed-twice");
const HOLDS: Expected = Expected::Holds;

const WRITE_AND_READ: Bounds = Bounds {
    operations: &[Write, Read],
    attempts: 2,
    transfers: 2,
};
const READ_WRITE_READ: Bounds = Bounds {
    operations: &[Read, Write, Read],
    attempts: 1,
    transfers: 2,
};

fn case(scenario: &'static str, bounds: Bounds, row: Row) -> Case {
    let run = exploring(move |rules| Forwarding { bounds, rules });
    Case::of_row("forwarding", scenario, row, run)
}

/// All cases of forwarding.
pub(crate) fn cases() -> Vec<Case> {
    let short = |rules, expected| case("write and read", WRITE_AND_READ, (rules, expected));
    let long = |rules, expected| case("read, write, read", READ_WRITE_READ, (rules, expected));
    vec![
        short(&[], HOLDS),
        long(&[], HOLDS),
        short(&[Rule::WriteSentOnce], TWICE),
        short(
            &[Rule::SentWriteIsUnknown],
            Expected::Fails("refused-write-executed"),
        ),
        short(&[Rule::SubmittedWriteIsUnknown], TWICE),
        short(&[Rule::ReadSentAgain], Expected::Fails("read-unknown")),
        short(
            &[Rule::WaitsForRevision],
            Expected::Fails("refused-while-served"),
        ),
        short(&[Rule::TenureNamed], HOLDS),
        long(&[Rule::CacheByTenure], STALE),
        long(&[Rule::CacheFilledByTenure], STALE),
    ]
}
