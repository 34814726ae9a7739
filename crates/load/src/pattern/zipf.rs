//! Zipf's distribution over the ranks 1 to n: rank k is drawn `k^exponent` times less often than rank 1.
//!
//! The method is rejection-inversion (Hörmann and Derflinger, "Rejection-inversion to generate variates from monotone
//! discrete distributions", 1996). It stores no table of ranks, so a million partitions take no memory. A number takes
//! about 1.1 attempts on average.
//!
//! A library could change its numbers in a new version. This module does not: reports of stress tests are compared
//! across versions, so the same seed must always give the same keys.

use crate::Random;

/// The distribution over the ranks 1 to n.
#[derive(Debug, Clone)]
pub(super) struct Zipf {
    count: f64,
    exponent: f64,
    area_first: f64,
    area_last: f64,
    shortcut: f64,
}

impl Zipf {
    /// The distribution over ranks 1 to `count` (at least 1), with an exponent above 0.
    pub(super) fn new(count: u64, exponent: f64) -> Self {
        let mut zipf = Self {
            count: count as f64,
            exponent,
            area_first: 0.0,
            area_last: 0.0,
            shortcut: 0.0,
        };
        zipf.area_first = zipf.area(1.5) - 1.0;
        zipf.area_last = zipf.area(zipf.count + 0.5);
        zipf.shortcut = 2.0 - zipf.place(zipf.area(2.5) - zipf.height(2.0));
        zipf
    }

    /// Draws a rank; rank 1 is the most frequent.
    pub(super) fn rank(&self, random: &mut Random) -> u64 {
        loop {
            let area = self.area_last + random.fraction() * (self.area_first - self.area_last);
            let place = self.place(area);
            let rank = place.round().clamp(1.0, self.count);
            if rank - place <= self.shortcut || area >= self.area(rank + 0.5) - self.height(rank) {
                return rank as u64;
            }
        }
    }

    fn height(&self, x: f64) -> f64 {
        (-self.exponent * x.ln()).exp()
    }

    /// The integral of [`Self::height`], up to a constant.
    fn area(&self, x: f64) -> f64 {
        let log = x.ln();
        let at = (1.0 - self.exponent) * log;
        // (e^t - 1) / t, which is 1 at 0.
        let factor = if at.abs() > 1e-8 {
            at.exp_m1() / at
        } else {
            1.0 + at / 2.0
        };
        factor * log
    }

    /// The inverse of [`Self::area`].
    fn place(&self, area: f64) -> f64 {
        let at = (area * (1.0 - self.exponent)).max(-1.0);
        // ln(1 + t) / t, which is 1 at 0.
        let factor = if at.abs() > 1e-8 {
            at.ln_1p() / at
        } else {
            1.0 - at / 2.0
        };
        (factor * area).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_as_frequent_as_in_the_formula() {
        for (count, exponent) in [(1, 1.0), (2, 0.5), (50, 1.0), (50, 0.99), (1_000, 1.5)] {
            let zipf = Zipf::new(count, exponent);
            let draws = 200_000;
            let mut counts = vec![0_u32; usize::try_from(count).unwrap() + 1];
            for number in 0..draws {
                let rank = zipf.rank(&mut Random::of(3, number));
                counts[usize::try_from(rank).unwrap()] += 1;
            }
            assert_eq!(counts[0], 0);
            let whole: f64 = (1..=count).map(|rank| (rank as f64).powf(-exponent)).sum();
            for rank in 1..=count.min(20) {
                let expected = (rank as f64).powf(-exponent) / whole * draws as f64;
                let found = f64::from(counts[usize::try_from(rank).unwrap()]);
                // Five standard deviations of a count.
                let bound = 5.0 * expected.sqrt() + 1.0;
                assert!(
                    (found - expected).abs() < bound,
                    "{count} {exponent} {rank}: {found}, {expected}"
                );
            }
        }
    }
}
