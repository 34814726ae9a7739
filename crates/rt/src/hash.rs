//! Seeds of hash tables.
//!
//! The random states of foldhash derive their seeds from memory addresses, which differ between two runs of a
//! simulation. The states of this module use [`crate::random`] instead. The standard library's `RandomState` is allowed
//! too: it reads the operating system's randomness, which a simulation controls.

use std::hash::BuildHasher;
use std::sync::OnceLock;

use foldhash::{SharedSeed, fast, quality};

/// The state of a hash table that uses all bits of a hash, such as a concurrent cache.
#[derive(Clone, Debug)]
pub struct RandomState(quality::SeedableRandomState);

/// The state of a hash table that uses only some bits of a hash, as `HashMap` does: faster.
#[derive(Clone, Debug)]
pub struct FastRandomState(fast::SeedableRandomState);

impl Default for RandomState {
    /// A state with a new seed.
    fn default() -> Self {
        Self(quality::SeedableRandomState::with_seed(
            crate::random::u64(),
            shared(),
        ))
    }
}

impl Default for FastRandomState {
    /// A state with a new seed.
    fn default() -> Self {
        Self(fast::SeedableRandomState::with_seed(
            crate::random::u64(),
            shared(),
        ))
    }
}

impl BuildHasher for RandomState {
    type Hasher = quality::FoldHasher<'static>;

    #[inline]
    fn build_hasher(&self) -> Self::Hasher {
        self.0.build_hasher()
    }
}

impl BuildHasher for FastRandomState {
    type Hasher = fast::FoldHasher<'static>;

    #[inline]
    fn build_hasher(&self) -> Self::Hasher {
        self.0.build_hasher()
    }
}

/// The part of the seed that all states of the process share, because computing it is slow.
fn shared() -> &'static SharedSeed {
    static SHARED: OnceLock<SharedSeed> = OnceLock::new();
    SHARED.get_or_init(|| SharedSeed::from_u64(crate::random::u64()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn states_differ<S: BuildHasher + Clone + Default>() {
        let (one, other) = (S::default(), S::default());
        assert_eq!(one.hash_one("key"), one.clone().hash_one("key"));
        assert_ne!(one.hash_one("key"), other.hash_one("key"));
    }

    #[test]
    fn every_state_has_a_different_seed() {
        states_differ::<RandomState>();
        states_differ::<FastRandomState>();
    }
}
