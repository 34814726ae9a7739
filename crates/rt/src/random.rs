//! Randomness of two kinds.
//!
//! [`fill`] asks the operating system: for salts, keys and seeds. [`u64()`] and [`guid`] come from a generator of this thread
//! (xoshiro256++, seeded once from the operating system): no system call and no lock, some nanoseconds each. They are for
//! request ids and spreading, where a collision must be unlikely but a guess does no harm.

use std::cell::RefCell;

thread_local! {
    static GENERATOR: RefCell<Xoshiro256> = RefCell::new(Xoshiro256::seeded());
}

/// Fills `bytes` with randomness of the operating system, fit for secrets.
///
/// # Panics
/// When the operating system has no randomness to give: there is no safe way to go on without it.
#[allow(
    clippy::disallowed_methods,
    reason = "this is the door to the system's randomness"
)]
pub fn fill(bytes: &mut [u8]) {
    getrandom::fill(bytes).expect("the operating system gives random bytes");
}

/// A random number, not fit for secrets.
#[must_use]
pub fn u64() -> u64 {
    GENERATOR.with_borrow_mut(Xoshiro256::next)
}

/// The bytes of a random GUID (version 4, variant 1), in the order of its text form. Not fit for secrets.
#[must_use]
pub fn guid() -> [u8; 16] {
    let (high, low) = GENERATOR.with_borrow_mut(|generator| (generator.next(), generator.next()));
    let high = (high & !0xf000) | 0x4000;
    let low = (low & !(0b11 << 62)) | (0b10 << 62);
    ((u128::from(high) << 64) | u128::from(low)).to_be_bytes()
}

/// xoshiro256++ 1.0 by Blackman and Vigna: passes BigCrush, four words of state.
struct Xoshiro256([u64; 4]);

impl Xoshiro256 {
    fn seeded() -> Self {
        let mut state = [0; 4];
        for word in &mut state {
            let mut bytes = [0; 8];
            fill(&mut bytes);
            *word = u64::from_le_bytes(bytes);
        }
        // The all-zero state is the one the generator never leaves.
        state[0] |= 1;
        Self(state)
    }

    fn next(&mut self) -> u64 {
        let [s0, s1, s2, s3] = &mut self.0;
        let result = s0.wrapping_add(*s3).rotate_left(23).wrapping_add(*s0);
        let shifted = *s1 << 17;
        *s2 ^= *s0;
        *s3 ^= *s1;
        *s1 ^= *s2;
        *s0 ^= *s3;
        *s2 ^= shifted;
        *s3 = s3.rotate_left(45);
        result
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn the_generator_is_xoshiro256_plus_plus() {
        // Reference: the authors' C source, run with the state 1, 2, 3, 4.
        let mut generator = Xoshiro256([1, 2, 3, 4]);
        let first: Vec<u64> = (0..4).map(|_| generator.next()).collect();
        assert_eq!(
            first,
            [
                41_943_041,
                58_720_359,
                3_588_806_011_781_223,
                3_591_011_842_654_386
            ]
        );
    }

    #[test]
    fn guids_differ_and_carry_version_and_variant() {
        let guids: HashSet<[u8; 16]> = (0..10_000).map(|_| guid()).collect();
        assert_eq!(guids.len(), 10_000);
        for guid in guids {
            assert_eq!(guid[6] >> 4, 4);
            assert_eq!(guid[8] >> 6, 0b10);
        }
    }

    #[test]
    #[allow(clippy::disallowed_methods, reason = "it is about threads")]
    fn threads_do_not_repeat_each_other() {
        let here: Vec<u64> = (0..8).map(|_| u64()).collect();
        let there = std::thread::spawn(|| (0..8).map(|_| u64()).collect::<Vec<u64>>())
            .join()
            .unwrap();
        assert_ne!(here, there);
    }
}
