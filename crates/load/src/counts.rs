//! Counts by word, such as refused requests by reason. Memory stays bounded however many different words a server
//! sends.

use std::collections::BTreeMap;

/// Maximum number of words with their own counts.
const WORDS_MAX: usize = 40;

/// The word under which all further words are counted.
const OTHER: &str = "other";

/// The number of occurrences of each word.
pub type Counts = BTreeMap<String, u64>;

/// Adds one to the count of a word.
pub fn count(counts: &mut Counts, word: &str) {
    if let Some(count) = counts.get_mut(word) {
        *count += 1;
    } else if counts.len() < WORDS_MAX {
        counts.insert(word.to_owned(), 1);
    } else {
        *counts.entry(OTHER.to_owned()).or_default() += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_words_take_bounded_memory() {
        let mut counts = Counts::new();
        for number in 0..1_000 {
            count(&mut counts, &number.to_string());
        }
        assert_eq!(counts.len(), WORDS_MAX + 1);
        assert_eq!(counts.values().sum::<u64>(), 1_000);
    }
}
