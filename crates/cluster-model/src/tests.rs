//! The table itself: complete, and able to fail in both directions. `./test model` explores all of it.

use std::collections::HashSet;

use crate::{Case, Expected, Rule, cases};

/// Rules of the design that no property of the models needs. Each has cases that hold without it.
const NOT_NEEDED: [Rule; 3] = [Rule::GateAfterWork, Rule::FrozenNotMoved, Rule::TenureNamed];

fn find(name: &str) -> Case {
    cases()
        .into_iter()
        .find(|case| case.name() == name)
        .expect("a case of the table")
}

fn fails(case: &Case) -> bool {
    matches!(case.expected, Expected::Fails(_) | Expected::Stuck)
}

#[test]
fn each_rule_is_needed_by_a_case() {
    let needed: HashSet<Rule> = cases()
        .iter()
        .filter(|case| fails(case))
        .flat_map(|case| case.without.iter().copied())
        .collect();
    for rule in Rule::ALL {
        assert_ne!(
            needed.contains(&rule),
            NOT_NEEDED.contains(&rule),
            "{rule:?}"
        );
    }
}

#[test]
fn a_pair_of_rules_fails_only_where_each_alone_holds() {
    let cases = cases();
    for pair in cases
        .iter()
        .filter(|case| fails(case) && case.without.len() > 1)
    {
        let alone = |rule: Rule| {
            let same = |case: &&Case| case.model == pair.model && case.without == [rule];
            cases
                .iter()
                .filter(same)
                .any(|case| case.expected == Expected::Holds)
        };
        assert!(
            pair.without.iter().all(|rule| alone(*rule)),
            "{}",
            pair.name()
        );
    }
}

#[test]
fn names_are_distinct() {
    let mut names = HashSet::new();
    for case in cases() {
        assert!(names.insert(case.name()), "{}", case.name());
    }
}

#[test]
fn a_removed_rule_is_found_and_its_presence_too() {
    let outcome = find("log two in flight -PutIfAbsent").run();
    assert!(outcome.meets(Expected::Fails("acknowledged-group-lost")));
    assert!(!outcome.meets(Expected::Holds));
    assert!(!outcome.meets(Expected::Fails("acknowledged-not-created")));

    let outcome = find("ownership transaction repeated").run();
    assert!(outcome.meets(Expected::Holds));
    assert!(!outcome.meets(Expected::Fails("acknowledged-write-lost")));
    assert!(outcome.states > 10_000);
}
