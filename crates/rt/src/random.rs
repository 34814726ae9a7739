//! Randomness of two kinds.
//!
//! [`fill`] reads the operating system's randomness: for salts, keys and seeds. [`u64()`] and [`guid`] come from a
//! thread-local generator, seeded once from the operating system: some nanoseconds each, without a system call or a
//! lock. They are for request ids and hash seeds, which must be unique but need not be secret.

use std::cell::RefCell;

use fastrand::Rng;

thread_local! {
    static GENERATOR: RefCell<Rng> = RefCell::new(seeded());
}

/// Fills `bytes` with randomness of the operating system. Suitable for secrets.
///
/// # Panics
/// When the operating system cannot provide randomness, because secrets would be guessable.
#[allow(
    clippy::disallowed_methods,
    reason = "the only place that reads the system's randomness"
)]
pub fn fill(bytes: &mut [u8]) {
    getrandom::fill(bytes).expect("the operating system gives random bytes");
}

fn seeded() -> Rng {
    let mut seed = [0; 8];
    fill(&mut seed);
    Rng::with_seed(u64::from_le_bytes(seed))
}

/// A random number. Not suitable for secrets.
#[must_use]
pub fn u64() -> u64 {
    GENERATOR.with_borrow_mut(|generator| generator.u64(..))
}

/// The bytes of a random GUID (version 4, variant 1), in the order of its text form. Not suitable for secrets.
#[must_use]
pub fn guid() -> [u8; 16] {
    let mut guid = GENERATOR.with_borrow_mut(|generator| generator.u128(..).to_be_bytes());
    guid[6] = (guid[6] & 0x0f) | 0x40;
    guid[8] = (guid[8] & 0x3f) | 0x80;
    guid
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

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
    #[allow(clippy::disallowed_methods, reason = "the test needs real threads")]
    fn threads_generate_different_numbers() {
        let here: Vec<u64> = (0..8).map(|_| u64()).collect();
        let there = std::thread::spawn(|| (0..8).map(|_| u64()).collect::<Vec<u64>>())
            .join()
            .unwrap();
        assert_ne!(here, there);
    }
}
