//! Random scripts, for the property tests of this crate's engines.

use std::collections::BTreeMap;

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

use super::Step;

/// A proptest strategy for scripts of up to `count_max` steps.
pub(crate) fn steps(count_max: usize) -> impl Strategy<Value = Vec<Step>> {
    vec(step(), 1..=count_max)
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => writes().prop_map(Step::Write),
        3 => vec(writes(), 1..6).prop_map(Step::WriteMany),
        3 => key().prop_map(Step::Get),
        3 => (key(), key(), 1_u8..10).prop_map(|(start, end, rows)| Step::Scan(start, end, rows)),
        1 => writes().prop_map(Step::ScanThenWrite),
        1 => Just(Step::Flush),
    ]
}

fn key() -> impl Strategy<Value = u16> {
    0_u16..60
}

fn writes() -> impl Strategy<Value = BTreeMap<u16, Option<u16>>> {
    btree_map(key(), proptest::option::weighted(0.75, 0_u16..300), 1..8)
}
