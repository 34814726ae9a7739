//! A seed, and its independent streams of random numbers.
//!
//! Every part of a simulation has its own stream, selected by a name. So one more number drawn in one part does not
//! change the numbers of other parts.

use ring::digest::{Digest, SHA256, digest};

/// The number from which all random choices of a simulation follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seed(pub(crate) u64);

impl Seed {
    /// The stream of random numbers with this name.
    pub(crate) fn stream(self, name: &str) -> fastrand::Rng {
        fastrand::Rng::with_seed(self.number(name))
    }

    /// A number derived from the seed and this name.
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
