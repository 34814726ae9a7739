use super::*;
use proptest::prelude::*;

fn advice_of(loads: &[u64], samples: usize) -> SplitAdvice {
    let keys: Vec<[u8; 2]> = (0..loads.len())
        .map(|at| (at as u16).to_be_bytes())
        .collect();
    let sampled: Vec<Sampled<'_>> = keys
        .iter()
        .zip(loads)
        .map(|(partition, &load)| Sampled {
            partition,
            table_bytes: 0,
            load,
        })
        .collect();
    advise(&sampled, samples, &[])
}

/// The share of the load before each possible split.
fn left_shares(loads: &[u64]) -> Vec<f64> {
    let total: u64 = loads.iter().sum();
    (1..loads.len())
        .map(|cut| loads[..cut].iter().sum::<u64>() as f64 / total as f64)
        .collect()
}

fn loads() -> impl Strategy<Value = Vec<u64>> {
    prop_oneof![
        prop::collection::vec(1_u64..100, 1..60),
        // One partition has about half of the load.
        (
            prop::collection::vec(1_u64..100, 1..60),
            0_usize..60,
            0_u64..6_000
        )
            .prop_map(|(mut loads, at, heavy)| {
                let at = at % loads.len();
                loads[at] += heavy;
                loads
            }),
    ]
}

proptest! {
    #[test]
    fn the_advice_is_the_best_fair_split_or_the_blocking_piece(loads in loads()) {
        let shares = left_shares(&loads);
        let distance = |share: f64| (share - 0.5).abs();
        let best = shares.iter().copied().min_by(|a, b| distance(*a).total_cmp(&distance(*b)));
        match advice_of(&loads, 256) {
            SplitAdvice::Cut { key, left_share } => {
                let at = usize::from(u16::from_be_bytes([key[0], key[1]]));
                prop_assert!(at > 0, "a partition is before the split key");
                prop_assert_eq!(shares[at - 1], left_share);
                prop_assert!(distance(left_share) <= distance(best.unwrap()) + 1e-12);
                prop_assert!(distance(left_share) <= 0.25);
            }
            SplitAdvice::OneHotPartition { partition, share } => {
                prop_assert!(best.is_none_or(|best| distance(best) > 0.25));
                let at = usize::from(u16::from_be_bytes([partition[0], partition[1]]));
                let total: u64 = loads.iter().sum();
                prop_assert_eq!(share, loads[at] as f64 / total as f64);
                prop_assert!(share > 0.5);
            }
            SplitAdvice::GrowsAtOneEnd { .. } => prop_assert!(false, "no table grows in this test"),
            SplitAdvice::NotEnoughLoad => prop_assert!(false, "256 samples are enough for advice"),
        }
    }
}

#[test]
fn little_load_gives_no_advice() {
    assert_eq!(advice_of(&[], 1_000), SplitAdvice::NotEnoughLoad);
    assert_eq!(advice_of(&[5, 5], 255), SplitAdvice::NotEnoughLoad);
    assert_ne!(advice_of(&[5, 5], 256), SplitAdvice::NotEnoughLoad);
}
