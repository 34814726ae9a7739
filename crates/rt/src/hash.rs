//! Seeds of hash tables.
//!
//! foldhash's own random states take their seeds from addresses, which no seed of a simulation decides. These take them from
//! [`crate::random`]. The standard library's `RandomState` asks the operating system, which a simulation answers.

use std::sync::OnceLock;

use foldhash::SharedSeed;

/// The state of a hash table whose keys an outsider chooses: quick and well distributed.
pub type RandomState = foldhash::quality::SeedableRandomState;

/// The state of a hash table that spreads keys well enough for a table and not for more.
pub type FastRandomState = foldhash::fast::SeedableRandomState;

/// A state with a seed of its own.
#[must_use]
pub fn random_state() -> RandomState {
    RandomState::with_seed(crate::random::u64(), shared())
}

/// A fast state with a seed of its own.
#[must_use]
pub fn fast_random_state() -> FastRandomState {
    FastRandomState::with_seed(crate::random::u64(), shared())
}

/// The part of the seed that all states of the process share: making one is slow.
fn shared() -> &'static SharedSeed {
    static SHARED: OnceLock<SharedSeed> = OnceLock::new();
    SHARED.get_or_init(|| SharedSeed::from_u64(crate::random::u64()))
}

#[cfg(test)]
mod tests {
    use std::hash::BuildHasher as _;

    use super::*;

    #[test]
    fn states_differ_and_each_hashes_alike() {
        let (one, other) = (random_state(), random_state());
        assert_eq!(one.hash_one("key"), one.clone().hash_one("key"));
        assert_ne!(one.hash_one("key"), other.hash_one("key"));
        let (one, other) = (fast_random_state(), fast_random_state());
        assert_eq!(one.hash_one("key"), one.clone().hash_one("key"));
        assert_ne!(one.hash_one("key"), other.hash_one("key"));
    }
}
