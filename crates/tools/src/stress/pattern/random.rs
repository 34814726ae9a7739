//! Numbers that look random and are the same for the same seed, in every version: a report names its seed, and whoever runs it again
//! gets the same keys. (Generators of other crates may change their numbers with a release.)

/// SplitMix64: a counter, mixed. Its state is one number, so that each row and each operation has a sequence of its own.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

/// The golden ratio's fraction in 64 bits: steps of it meet every number, and neighbours lie far apart.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

impl Random {
    /// The sequence that belongs to a number.
    pub(crate) fn of(seed: u64, number: u64) -> Self {
        Self(mixed(seed ^ mixed(number.wrapping_add(STEP))))
    }

    /// The next 64 bits.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mixed(self.0)
    }

    /// From 0 on and below the bound, which is above 0.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        let wide = u128::from(self.next()) * u128::from(bound);
        u64::try_from(wide >> 64).unwrap_or_default()
    }

    /// From 0 on and below 1.
    pub(crate) fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
fn mixed(mut value: u64) -> u64 {
    value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_the_paper() {
        // The first of the sequence whose counter starts at 0, as its reference implementation prints them.
        let mut random = Random(0);
        assert_eq!(random.next(), 0xE220_A839_7B1D_CDAF);
        assert_eq!(random.next(), 0x6E78_9E6A_A1B9_65F4);
    }

    #[test]
    fn sequences_are_even_and_differ() {
        let mut counts = [0_u32; 10];
        for number in 0..100_000 {
            counts[usize::try_from(Random::of(7, number).below(10)).unwrap()] += 1;
        }
        assert!(
            counts.iter().all(|count| (9_500..10_500).contains(count)),
            "{counts:?}"
        );
        assert_ne!(Random::of(7, 1).next(), Random::of(8, 1).next());
        let mean = (0..10_000)
            .map(|number| Random::of(1, number).fraction())
            .sum::<f64>()
            / 10_000.0;
        assert!((0.49..0.51).contains(&mean), "{mean}");
    }
}
