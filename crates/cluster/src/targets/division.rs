//! Divides a target among the servers of its scope, by what was asked of each in the last interval.
//!
//! 1. Each server is expected to use what it was asked for. If that is more than the target in all, a level is found: those
//!    below it are expected to use all of their demand, the others the level (max-min fairness). So a server whose
//!    clients repeat refused requests at once takes nothing from one with a small demand. The expected uses never add up
//!    to more than the target.
//! 2. On top of it each server gets a margin for a demand that grows: its part of what is left of the target, but at
//!    least 10 % of its expected use, and in all at least 1/(2n) of the target.
//!
//! The margins may add up to more than is left: 10 % of the target, and 1/2 for servers that were asked for nothing. If
//! these were taken from the others, a table whose load is at one of many servers could use half of its target only. A
//! margin is used only if the demand grows, and the next division, 2 s later, knows that.

use super::{WHOLE, least_share};

/// The shares of servers with these demands, in their order. All are in millionths of the target.
pub(crate) fn divide(demands: &[u64]) -> Vec<u64> {
    let (level, rest) = level(demands);
    let servers = demands.len().max(1) as u64;
    let least = least_share(demands.len());
    let share = |demand: &u64| {
        let expected = (*demand).min(level);
        let of_rest = expected + rest / servers;
        let tenth_more = (expected + expected / 10).min(level);
        of_rest.max(tenth_more).max(least)
    };
    demands.iter().map(share).collect()
}

/// What a server may be expected to use at most, and what is left of the target if each uses its demand.
fn level(demands: &[u64]) -> (u64, u64) {
    let mut sorted = demands.to_vec();
    sorted.sort_unstable();
    let mut rest = WHOLE;
    for (at, demand) in sorted.iter().enumerate() {
        let servers = (sorted.len() - at) as u64;
        if *demand > rest / servers {
            return (rest / servers, 0);
        }
        rest -= demand;
    }
    (WHOLE, rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Demands of some servers: idle, small, about the target, and far beyond it.
    fn demands() -> impl Strategy<Value = Vec<u64>> {
        let demand = prop_oneof![
            Just(0),
            0..WHOLE / 10,
            0..2 * WHOLE,
            Just(u64::MAX),
            any::<u64>()
        ];
        prop::collection::vec(demand, 1..40)
    }

    fn used(demands: &[u64], shares: &[u64]) -> u64 {
        let used = demands.iter().zip(shares);
        used.map(|(demand, share)| (*demand).min(*share)).sum()
    }

    proptest! {
        #[test]
        fn a_steady_load_uses_at_most_the_target_and_all_of_it_if_it_asks_for_that(demands in demands()) {
            let shares = divide(&demands);
            let asked = demands.iter().fold(0, |sum: u64, demand| sum.saturating_add(*demand));
            let used = used(&demands, &shares);
            let (most, rounding) = (asked.min(WHOLE), demands.len() as u64);
            prop_assert!(used <= most, "{used} of {most}");
            prop_assert!(used + rounding >= most, "{used} of {most}");
        }

        #[test]
        fn shares_have_bounds(demands in demands()) {
            let (shares, servers) = (divide(&demands), demands.len() as u64);
            let sum: u64 = shares.iter().sum();
            // A tenth more, and half a share for each but one.
            let margins = WHOLE / 10 + (servers - 1) * WHOLE / (2 * servers);
            prop_assert!(sum <= WHOLE + margins, "{sum}");
            for share in &shares {
                prop_assert!((WHOLE / (2 * servers)..=WHOLE).contains(share), "{share}");
            }
        }

        #[test]
        fn the_target_is_given_out(demands in demands()) {
            let shares = divide(&demands);
            let sum: u64 = shares.iter().sum();
            prop_assert!(sum + demands.len() as u64 >= WHOLE, "{sum}");
        }

        #[test]
        fn a_server_that_asks_for_more_may_use_no_less(
            demands in demands(),
            at: prop::sample::Index,
            more in 0..WHOLE,
        ) {
            let at = at.index(demands.len());
            let before = demands[at].min(divide(&demands)[at]);
            let mut grown = demands;
            grown[at] = grown[at].saturating_add(more);
            let after = grown[at].min(divide(&grown)[at]);
            // The level is rounded.
            prop_assert!(after + 1 >= before, "{after} after {before}");
        }

        /// A server that asks for no more than half of an equal share is never refused.
        #[test]
        fn a_small_demand_is_served_whatever_others_ask_for(demands in demands(), at: prop::sample::Index) {
            let (at, small) = (at.index(demands.len()), WHOLE / (2 * demands.len() as u64));
            prop_assert!(divide(&demands)[at] >= small);
        }
    }

    #[test]
    fn a_server_alone_has_the_whole_target() {
        for demand in [0, 1, WHOLE, u64::MAX] {
            assert_eq!(divide(&[demand]), [WHOLE]);
        }
        assert!(divide(&[]).is_empty());
    }

    #[test]
    fn idle_servers_leave_the_target_to_the_others() {
        assert_eq!(divide(&[0, 0]), [WHOLE / 2; 2]);
        assert_eq!(divide(&[5 * WHOLE, 0]), [WHOLE, WHOLE / 4]);
        assert_eq!(
            divide(&[900_000, 0, 0]),
            [990_000, WHOLE / 6, WHOLE / 6],
            "a tenth more than its demand"
        );
    }

    #[test]
    fn a_new_demand_is_served_after_one_division() {
        let (both, before) = (divide(&[5 * WHOLE, 300_000]), divide(&[5 * WHOLE, 0]));
        assert_eq!(before[1], WHOLE / 4);
        assert_eq!(both, [700_000, 330_000]);
    }

    #[test]
    fn clients_that_repeat_refused_requests_gain_nothing() {
        let patient = divide(&[600_000, 2 * WHOLE]);
        let hasty = divide(&[600_000, 1_000 * WHOLE]);
        assert_eq!(patient, [WHOLE / 2; 2]);
        assert_eq!(hasty, patient);
    }

    /// The load jumps between two servers as unfavourably as it can: what both use in all stays close to the target.
    #[test]
    fn a_load_that_moves_uses_little_more_than_the_target() {
        for pattern in [
            [[9, 0], [0, 9]],
            [[9, 0], [9, 9]],
            [[0, 0], [9, 9]],
            [[9, 1], [1, 9]],
        ] {
            let (mut shares, mut sum) = (divide(&[0, 0]), 0);
            let rounds = 100;
            for round in 0..rounds {
                let demands = pattern[round % 2].map(|tenths| tenths * WHOLE / 10);
                sum += used(&demands, &shares);
                shares = divide(&demands);
            }
            let mean = sum / rounds as u64;
            assert!(mean <= WHOLE * 11 / 10, "{pattern:?}: {mean}");
        }
    }
}
