use super::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

fn keys(pattern: Pattern, numbers: std::ops::Range<u64>) -> Vec<String> {
    let keys = Keys::new(
        pattern,
        42,
        "run",
        vec!["é".to_owned(), String::new(), "é".to_owned()],
    );
    numbers.map(|number| keys.partition_key(number)).collect()
}

fn counted(keys: &[String]) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for key in keys {
        *counts.entry(key.as_str()).or_default() += 1;
    }
    counts
}

#[test]
fn each_pattern_has_its_distribution() {
    assert_eq!(counted(&keys(Pattern::Single, 0..100)).len(), 1);

    let uniform = keys(Pattern::Uniform { partitions: 8 }, 0..8_000);
    let counts = counted(&uniform);
    assert_eq!(
        counts.keys().copied().collect::<Vec<_>>(),
        ["p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7"]
    );
    assert!(
        counts.values().all(|count| (850..1_150).contains(count)),
        "{counts:?}"
    );

    let zipf = keys(
        Pattern::Zipf {
            partitions: 100,
            exponent: 1.0,
        },
        0..20_000,
    );
    let counts = counted(&zipf);
    // The first rank, p00, has 1 / (1 + 1/2 + … + 1/100) of all rows. The second rank has half of that; its partition
    // is p61.
    assert!((3_600..4_100).contains(&counts["p00"]), "{counts:?}");
    assert!((1_750..2_100).contains(&counts["p61"]), "{counts:?}");

    let append = keys(Pattern::Append { partition_rows: 3 }, 0..7);
    assert_eq!(append[0], "0000000000");
    assert_eq!(append[6], "0000000002");
    assert!(append.is_sorted() && counted(&append).len() == 3);
    let prepend = keys(Pattern::Prepend { partition_rows: 3 }, 0..7);
    assert!(prepend.iter().rev().is_sorted() && counted(&prepend).len() == 3);

    let sampled = Pattern::Sampled {
        source: "a list".to_owned(),
        keys: 3,
    };
    let counts = keys(sampled, 0..3_000);
    let counts = counted(&counts);
    assert!(
        (1_850..2_150).contains(&counts["é"]) && counts.len() == 2,
        "{counts:?}"
    );
}

#[test]
fn the_same_seed_gives_the_same_keys_in_every_version() {
    let three = |pattern| keys(pattern, 1_000..1_003).join(" ");
    assert_eq!(
        three(Pattern::Uniform { partitions: 1_000 }),
        EXPECTED_UNIFORM
    );
    assert_eq!(
        three(Pattern::Zipf {
            partitions: 1_000,
            exponent: 0.99
        }),
        EXPECTED_ZIPF
    );
}

/// Fixed values: if they changed, reports of older versions would not be comparable.
const EXPECTED_UNIFORM: &str = "p699 p906 p485";
const EXPECTED_ZIPF: &str = "p095 p000 p713";

proptest! {
    #[test]
    fn different_ranks_have_different_partitions(partitions in 1_u64..2_000) {
        let places: BTreeSet<u64> = (0..partitions).map(|rank| scattered(rank, partitions)).collect();
        prop_assert_eq!(places.len() as u64, partitions);
        prop_assert!(places.iter().all(|place| *place < partitions));
    }

    #[test]
    fn rows_of_a_run_have_unique_keys(number in 0_u64..5_000_000_000, other in 0_u64..5_000_000_000) {
        let keys = Keys::new(Pattern::Single, 1, "a1b2", Vec::new());
        prop_assert_eq!(keys.row_key(number) == keys.row_key(other), number == other);
        prop_assert_eq!(keys.row_key(number) < keys.row_key(other), number < other);
    }
}
