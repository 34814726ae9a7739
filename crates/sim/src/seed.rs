//! A seed, and its independent streams of random numbers.
//!
//! Every part of a simulation has its own stream, by name. So one more number drawn in one part does not change the
//! others.

use ring::digest::{Digest, SHA256, digest};

/// The number that decides everything in a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seed(pub(crate) u64);

impl Seed {
    /// The stream of this name.
    pub(crate) fn stream(self, name: &str) -> fastrand::Rng {
        fastrand::Rng::with_seed(self.number(name))
    }

    /// The number of this name.
    pub(crate) fn number(self, name: &str) -> u64 {
        let hash = digest(&SHA256, format!("{} {name}", self.0).as_bytes());
        first_number(&hash).swap_bytes()
    }
}

/// The first eight bytes of a hash.
pub(crate) fn first_number(hash: &Digest) -> u64 {
    let first = hash.as_ref().first_chunk();
    first.map_or(0, |first| u64::from_be_bytes(*first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_repeat_and_differ_by_seed_and_name() {
        let draw = |seed, name: &str| Seed(seed).stream(name).u64(..);
        assert_eq!(draw(1, "a"), draw(1, "a"));
        assert_ne!(draw(1, "a"), draw(2, "a"));
        assert_ne!(draw(1, "a"), draw(1, "b"));
    }
}
