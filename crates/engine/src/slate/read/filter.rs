//! The Bloom filters of data files, which tell that a file does not have a key.
//!
//! SlateDB writes a filter into each file of 1,000 keys or more (`filter.rs` and `format/sst.rs` of its source);
//! `FILTER_BITS` in `settings.rs` says of how many bits a key. So nothing is learnt again after a start, and an absent key
//! costs some nanoseconds a file.

use bytes::Bytes;
use siphasher::sip::SipHasher13;
use slatedb::BloomFilterPolicy;

/// The hash of a key, the same for all filters.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyHash(u64);

impl KeyHash {
    pub(super) fn of(key: &[u8]) -> Self {
        Self(SipHasher13::new().hash(key))
    }

    /// Two different places below `size`, which is a power of two.
    pub(super) fn places(self, size: usize) -> [usize; 2] {
        let mask = size - 1;
        [self.0 as usize & mask, (self.0 >> 32) as usize & mask]
    }
}

/// The filter of a file.
#[derive(Debug)]
pub(super) struct Filter {
    probes: u16,
    /// The number of bits.
    size: Remainder,
    bits: Bytes,
}

impl Filter {
    /// The filter of a file without one: the file may contain each key.
    pub(super) fn of_all_keys() -> Self {
        Self {
            probes: 0,
            size: Remainder::default(),
            bits: Bytes::new(),
        }
    }

    /// Reads the filters of a file from the unpacked part of the file that has them, in SlateDB's composite format:
    /// their number (u16), then for each a name (u16 length) and its bytes (u64 length). That of all keys if there is
    /// none that this version knows, `Err` if the bytes are not in the format.
    pub(super) fn decode(part: &Bytes) -> Result<Self, ()> {
        let mut rest = part.clone();
        let number = u16::from_be_bytes(take(&mut rest)?);
        for _ in 0..number {
            let name_bytes = u16::from_be_bytes(take(&mut rest)?);
            let name = split(&mut rest, usize::from(name_bytes))?;
            let bytes = u64::from_be_bytes(take(&mut rest)?);
            let mut content = split(&mut rest, usize::try_from(bytes).map_err(drop)?)?;
            if name == BloomFilterPolicy::NAME.as_bytes() {
                let probes = u16::from_be_bytes(take(&mut content)?);
                let bits = content;
                let size = Remainder::new(bits.len() as u64 * 8);
                let filter = size.map(|size| Self { probes, size, bits });
                return Ok(filter.unwrap_or_else(Self::of_all_keys));
            }
        }
        Ok(Self::of_all_keys())
    }

    /// `false` only if the file does not have the key. Enhanced double hashing, as in `probes_for_key` of SlateDB's
    /// `filter.rs`: the step grows by one with each probe.
    #[inline]
    pub(super) fn may_contain(&self, KeyHash(hash): KeyHash) -> bool {
        let size = self.size.divisor;
        let mut place = self.size.of(hash as u32);
        let mut step = self.size.of((hash >> 32) as u32);
        for probe in 0..u64::from(self.probes) {
            step += probe;
            while step >= size {
                step -= size;
            }
            if self.bit(place) == 0 {
                return false;
            }
            place += step;
            if place >= size {
                place -= size;
            }
        }
        true
    }

    /// As [`Filter::may_contain`], but by the first three places only, and without a branch between them: the processor
    /// loads the places of several keys at the same time.
    #[inline]
    pub(super) fn may_contain_quickly(&self, KeyHash(hash): KeyHash) -> bool {
        if self.probes < 3 {
            return true;
        }
        let size = self.size.divisor;
        let wrapped = |place: u64| place - if place >= size { size } else { 0 };
        let first = self.size.of(hash as u32);
        let step = self.size.of((hash >> 32) as u32);
        let second = wrapped(first + step);
        let third = wrapped(second + wrapped(step + 1));
        self.bit(first) & self.bit(second) & self.bit(third) == 1
    }

    /// A bit, 0 or 1.
    #[inline]
    fn bit(&self, place: u64) -> u8 {
        let byte = usize::try_from(place / 8).ok();
        let byte = byte.and_then(|byte| self.bits.get(byte)).copied();
        (byte.unwrap_or_default() >> (place % 8)) & 1
    }

    /// The bytes of memory that it takes.
    pub(super) fn bytes(&self) -> usize {
        self.bits.len() + size_of::<Self>()
    }
}

/// Remainders of divisions by one number, each by two multiplications: a batch asks the filter of each file for each of its
/// keys, and divisions were half of that time. From "Faster Remainder by Direct Computation", Lemire, Kaser and Kurz, 2019.
#[derive(Debug, Default)]
struct Remainder {
    divisor: u64,
    /// 2^64 divided by the divisor, rounded up.
    inverse: u64,
}

impl Remainder {
    /// `None` if the divisor is 0 or 1.
    fn new(divisor: u64) -> Option<Self> {
        let inverse = u64::MAX.checked_div(divisor)?.checked_add(1)?;
        Some(Self { divisor, inverse })
    }

    /// The remainder of a division of `number`.
    #[inline]
    fn of(&self, number: u32) -> u64 {
        if self.divisor > u64::from(u32::MAX) {
            return u64::from(number);
        }
        let fraction = self.inverse.wrapping_mul(u64::from(number));
        ((u128::from(fraction) * u128::from(self.divisor)) >> 64) as u64
    }
}

fn split(bytes: &mut Bytes, count: usize) -> Result<Bytes, ()> {
    if bytes.len() < count {
        return Err(());
    }
    Ok(bytes.split_to(count))
}

fn take<const N: usize>(bytes: &mut Bytes) -> Result<[u8; N], ()> {
    let taken = split(bytes, N)?;
    taken.first_chunk().copied().ok_or(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn remainders_are_those_of_a_division(number: u32, small in 2_u64..5_000, any in 2_u64..1 << 34) {
            for divisor in [small, any, u64::from(u32::MAX), u64::from(u32::MAX) + 1] {
                let remainder = Remainder::new(divisor).unwrap().of(number);
                prop_assert_eq!(remainder, u64::from(number) % divisor);
            }
        }
    }

    proptest! {
        /// The quick answer is never `false` for a key that may be there, and often for others.
        #[test]
        fn the_quick_answer_agrees_with_the_whole_one(keys in proptest::collection::vec(any::<u64>(), 1..200)) {
            const PROBES: u16 = 7;
            let mut bits = vec![0_u8; 250];
            let size = Remainder::new(bits.len() as u64 * 8).unwrap();
            for key in &keys {
                let (mut place, mut step) = (size.of(*key as u32), size.of((key >> 32) as u32));
                for probe in 0..u64::from(PROBES) {
                    step = (step + probe) % size.divisor;
                    bits[(place / 8) as usize] |= 1 << (place % 8);
                    place = (place + step) % size.divisor;
                }
            }
            let filter = Filter { probes: PROBES, size, bits: bits.into() };
            prop_assert!(keys.iter().all(|key| filter.may_contain(KeyHash(*key))));
            let others = || (0..1_000_u64).map(|number| KeyHash::of(&number.to_le_bytes()));
            for key in keys.iter().map(|key| KeyHash(*key)).chain(others()) {
                prop_assert!(filter.may_contain_quickly(key) || !filter.may_contain(key));
            }
            let quick = others().filter(|key| filter.may_contain_quickly(*key)).count();
            prop_assert!(quick < 500, "{quick} of 1,000");
        }
    }

    #[test]
    fn a_filter_without_bits_is_none() {
        assert!(Remainder::new(0).is_none());
    }
}
