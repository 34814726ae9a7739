//! Random numbers by SplitMix64, cheap enough for several per request.
//!
//! A report contains the seed of its run, and the same seed must give the same keys in every version. Other crates may
//! change the numbers of their generators in a new release, so this crate has its own generator.

/// A counter-based random number generator (SplitMix64). Its state is one number, so each row and each operation can
/// have its own sequence.
#[derive(Debug, Clone)]
pub struct Random(u64);

/// The step of the counter: 2^64 divided by the golden ratio. It is odd, so the counter reaches every 64-bit number,
/// and consecutive values lie far apart.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

impl Random {
    /// The sequence of a seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The sequence of the row or operation with this number, for a seed.
    #[must_use]
    pub const fn of(seed: u64, number: u64) -> Self {
        Self(mix(seed ^ mix(number.wrapping_add(STEP))))
    }

    /// The next 64 bits.
    #[inline]
    pub const fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mix(self.0)
    }

    /// A random number below `bound`, which must be above 0.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        let wide = u128::from(self.next_u64()) * u128::from(bound);
        u64::try_from(wide >> 64).unwrap_or_default()
    }

    /// A random fraction: at least 0, below 1.
    pub fn fraction(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// True with a probability of `percent` %.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// A bijective mix of 64 bits: different inputs give different outputs, and similar inputs give very different outputs.
///
/// Source: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
#[must_use]
#[inline]
pub const fn mix(mut value: u64) -> u64 {
    value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_match_the_reference_implementation() {
        // The first numbers that the reference implementation prints for the seed 0.
        let mut random = Random::new(0);
        assert_eq!(random.next_u64(), 0xE220_A839_7B1D_CDAF);
        assert_eq!(random.next_u64(), 0x6E78_9E6A_A1B9_65F4);
    }

    #[test]
    fn sequences_are_uniform_and_differ() {
        let mut counts = [0_u32; 10];
        for number in 0..100_000 {
            counts[usize::try_from(Random::of(7, number).below(10)).unwrap()] += 1;
        }
        assert!(
            counts.iter().all(|count| (9_500..10_500).contains(count)),
            "{counts:?}"
        );
        assert_ne!(Random::of(7, 1).next_u64(), Random::of(8, 1).next_u64());
        let mean = (0..10_000)
            .map(|number| Random::of(1, number).fraction())
            .sum::<f64>()
            / 10_000.0;
        assert!((0.49..0.51).contains(&mean), "{mean}");
        let mut random = Random::new(1);
        let hits = (0..10_000).filter(|_| random.chance(30)).count();
        assert!((2_800..3_200).contains(&hits), "{hits}");
    }
}
