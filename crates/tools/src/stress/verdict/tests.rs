//! Tests the verdicts on several table designs.

use super::*;

/// The metrics of a design.
struct Case {
    name: &'static str,
    /// Entities requested per second.
    asked: f64,
    /// The share of the busiest partition.
    share: f64,
    /// The load of the busiest partition of each second, if that partition changes from second to second.
    moving: f64,
    tail: f64,
    head: f64,
    refused: &'static [(&'static str, u64)],
    kinds: &'static [(Kind, u64, u64)],
    closed: bool,
    due_for_begun: f64,
    given_up: &'static [(&'static str, u64)],
    failed: u64,
}

const QUIET: Case = Case {
    name: "quiet",
    asked: 1_000.0,
    share: 0.01,
    moving: 0.0,
    tail: 0.01,
    head: 0.01,
    refused: &[],
    kinds: &[(Kind::Get, 1_000, 900)],
    closed: false,
    due_for_begun: 1.0,
    given_up: &[],
    failed: 0,
};

fn verdict(case: &Case, targets: Targets) -> Verdict {
    let counts = |counts: &[(&str, u64)]| {
        counts
            .iter()
            .map(|(word, count)| ((*word).to_owned(), *count))
            .collect()
    };
    let tries = Tries {
        attempts: 10_000,
        refused: counts(case.refused),
        given_up: counts(case.given_up),
        ..Tries::default()
    };
    let busiest = PartitionMetrics {
        partition_key: "hot".to_owned(),
        asked_per_second: case.asked * case.share,
        served_per_second: case.asked * case.share,
        peak_asked: 0,
        share: case.share,
        refused: 0,
    };
    Verdict::of(&Evidence {
        targets,
        at_a_rate: !case.closed,
        asked_per_second: case.asked,
        busiest_asked_per_second: case.moving.max(case.asked * case.share),
        due_for_begun: case.due_for_begun,
        partitions: &[busiest],
        growth: Growth {
            written_per_second: case.asked,
            tail_share: case.tail,
            head_share: case.head,
        },
        tries: &tries,
        failed: case.failed,
        kinds: case.kinds,
    })
}

/// Asserts that the verdict has this state, that its headline contains this text, and that each piece of advice
/// contains its text.
fn assert_verdict(case: &Case, targets: Targets, expected: (State, &str, &[&str])) {
    let verdict = verdict(case, targets);
    let (state, headline, advice) = expected;
    let found = &verdict.headline;
    assert_eq!(verdict.state, state, "{}: {found}", case.name);
    assert!(found.contains(headline), "{}: {found}", case.name);
    assert_advice(case, &verdict, advice);
}

fn assert_advice(case: &Case, verdict: &Verdict, expected: &[&str]) {
    let found = &verdict.advice;
    assert_eq!(found.len(), expected.len(), "{}: {found:#?}", case.name);
    for (found, words) in found.iter().zip(expected) {
        assert!(
            found.contains(words),
            "{}: {found:?} does not contain {words:?}",
            case.name
        );
    }
}

const INSERTS: &[(Kind, u64, u64)] = &[(Kind::Insert, 10_000, 5_000)];

#[test]
fn designs_have_expected_verdicts() {
    let one_hot = Case {
        name: "one hot partition",
        asked: 5_000.0,
        share: 0.9,
        ..QUIET
    };
    let near = Case {
        name: "near",
        asked: 1_700.0,
        share: 1.0,
        tail: 0.0,
        head: 0.0,
        ..QUIET
    };
    let single = Case {
        name: "one partition of inserts",
        asked: 3_000.0,
        kinds: INSERTS,
        ..near
    };
    let append = Case {
        name: "append",
        kinds: INSERTS,
        asked: 8_000.0,
        share: 0.001,
        moving: 1_500.0,
        tail: 0.97,
        ..QUIET
    };
    let prepend = Case {
        name: "prepend",
        head: 0.97,
        tail: 0.0,
        ..append
    };
    let spread = Case {
        name: "too much for an account",
        asked: 45_000.0,
        share: 0.001,
        ..QUIET
    };
    let scan = Case {
        name: "scans",
        kinds: &[(Kind::Get, 900, 900), (Kind::Scan, 100, 2_500_000)],
        ..QUIET
    };
    let slow = Case {
        name: "rate not reached",
        asked: 2_400.0,
        share: 1.0,
        due_for_begun: 2.0,
        ..QUIET
    };
    let cases: [(&Case, State, &str, &[&str]); 9] = [
        (&QUIET, State::Within, "Within the targets", &[]),
        // 4,500 / 2,000 / 0.7 is a little over 3.
        (
            &one_hot,
            State::Over,
            "4,500 entities/s requested from one partition, target 2,000 (2.2 times)",
            &[
                "PartitionKey \"hot\" exceeds the target of a partition. Put a hash of the RowKey before or after it: PartitionKey = hash(RowKey) % 4",
            ],
        ),
        (
            &single,
            State::Over,
            "3,000 entities/s requested from one partition",
            &["% 3 + '-' + key", "Transactions of up to 100 of its rows"],
        ),
        (
            &append,
            State::Over,
            "7,760 entities/s requested from one server",
            &["growing, so all 7,760 writes/s go to the range at the end"],
        ),
        (
            &prepend,
            State::Over,
            "7,760 entities/s requested from one server",
            &["shrinking, so all 7,760 writes/s go to the range at the start"],
        ),
        (
            &near,
            State::Near,
            "Near the target: 1,700",
            &["85 % of a partition's target. Plan for 2 buckets"],
        ),
        (
            &spread,
            State::Over,
            "45,000 entities/s requested from one account, target 20,000",
            &["spread the tables over 4 accounts"],
        ),
        (
            &scan,
            State::Within,
            "Within",
            &["10.0 % of the operations scan the whole table (p99 2,500 ms"],
        ),
        (
            &slow,
            State::Over,
            "2,400 entities/s requested from one partition",
            &[
                "% 2 + '-' + key",
                "Only 50 % of the operations that were due",
            ],
        ),
    ];
    for (case, state, headline, advice) in cases {
        assert_verdict(case, Targets::AZURE, (state, headline, advice));
    }
}

#[test]
fn refusals_give_advice_by_reason() {
    let by = |name, refused| Case {
        name,
        refused,
        ..QUIET
    };
    let throttled = Case {
        share: 1.0,
        tail: 0.0,
        head: 0.0,
        ..by("throttled", &[("partition-target", 4_000)])
    };
    let closed = Case {
        closed: true,
        asked: 480.0,
        ..throttled
    };
    let moving = by("moving", &[("range-in-transit", 400), ("overloaded", 10)]);
    let overloaded = by("overloaded", &[("overloaded", 400)]);
    let unnamed = by("unnamed", &[("503 ServerBusy", 400)]);
    let budget = Case {
        given_up: &[("retry budget used up", 7_000)],
        failed: 7_000,
        ..throttled
    };
    let cases: [(&Case, &str, &[&str]); 6] = [
        (
            &throttled,
            "Throttled: the server refused 40.0 % of the attempts (partition-target 4,000); 1,000 entities/s requested from one partition, target 500",
            &["% 3 + '-' + key, 3 buckets (each then takes about 333/s)"],
        ),
        (
            &closed,
            "; it is stricter than --target classic: 480 entities/s requested from one partition",
            &[
                "lower target for a partition",
                "at least 2 buckets (a closed loop slows down",
            ],
        ),
        (
            &moving,
            "Throttled: the server refused 4.1 % of the attempts (range-in-transit 400, overloaded 10)",
            &["being split or moved"],
        ),
        (&overloaded, "Throttled: ", &["overloaded as a whole"]),
        (
            &unnamed,
            "Throttled: ",
            &["although the average load exceeds no target"],
        ),
        (
            &budget,
            "Throttled: ",
            &[
                "% 3",
                "7,000 operations failed because the client's retry budget was empty",
            ],
        ),
    ];
    for (case, headline, advice) in cases {
        assert_verdict(case, Targets::CLASSIC, (State::Over, headline, advice));
    }
}

/// B4: a server with lower targets than the verdict's. The reasons of the refusals lead, and no advice contradicts the
/// figures.
#[test]
fn b4_a_stricter_server_is_named_instead_of_a_hot_partition() {
    let scans = Case {
        asked: 4_500.0,
        share: 0.1,
        refused: &[("partition-target", 72), ("account-target", 615)],
        kinds: &[(Kind::Get, 900, 900), (Kind::Scan, 100, 90_000)],
        ..QUIET
    };
    let headline = "Throttled: the server refused 6.9 % of the attempts (account-target 615, partition-target 72); it is stricter than --target azure: ";
    let advice: &[&str] = &[
        "The server is stricter than --target azure: it has a lower target for the account",
        "scan the whole table",
    ];
    assert_verdict(&scans, Targets::AZURE, (State::Over, headline, advice));
}

#[test]
fn without_targets_only_refusals_and_failures_count() {
    let hot = Case {
        asked: 90_000.0,
        share: 1.0,
        ..QUIET
    };
    let verdict_of = |case: &Case| verdict(case, Targets::OFF);
    assert_eq!(verdict_of(&hot).state, State::Within);
    assert_eq!(verdict_of(&hot).judged, []);
    let refused = Case {
        refused: &[("503 ServerBusy", 500)],
        ..hot
    };
    assert_eq!(verdict_of(&refused).state, State::Over);
    let failed = Case {
        failed: 1,
        given_up: &[("not worth another attempt", 1)],
        ..QUIET
    };
    let verdict = verdict_of(&failed);
    assert_eq!(
        verdict.headline,
        "1 operation failed; no targets to compare with"
    );
    assert!(verdict.advice[0].contains("nothing to do with load"));
    // 9 refused attempts of 10,000 are below the minimum share.
    let hiccup = Case {
        refused: &[("overloaded", 9)],
        ..QUIET
    };
    assert_eq!(verdict_of(&hiccup).state, State::Within);
}
