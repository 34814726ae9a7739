//! Finds idioms that keep readers out: people where a noun belongs (a caller, a client), and riddles by understatement.
//!
//! The rule searches documents and Rust sources: comments, names and texts, also across the lines of a comment.

use super::Finding;
use super::tree::{File, Tree};

/// Idioms word by word; `*` is any one word. The rule does not find this list: it exempts single words in quotes, and
/// an idiom does not reach across quotes.
const IDIOMS: [&[&str]; 22] = [
    &["whoever"],
    &["nobody"],
    &["somebody"],
    &["everybody"],
    &["anybody"],
    &["stranger"],
    &["strangers"],
    &["is", "no", "such"],
    &["are", "no", "such"],
    &["keeps", "nothing", "from"],
    &["keeps", "no", "*", "from"],
    &["keeps", "no", "*", "*", "from"],
    &["has", "no", "name", "of"],
    &["of", "no", "account"],
    &["comes", "to", "be"],
    &["come", "to", "be"],
    &["let", "go"],
    &["lets", "go"],
    &["lets", "*", "go"],
    &["lets", "*", "*", "go"],
    &["letting", "go"],
    &["letting", "*", "go"],
];

/// Words that may follow "no" after "is": "is no longer" is plain, and so is "there is no table". With a noun,
/// "no" after "is" is a riddle for "is not a table".
const PLAIN_AFTER_NO: [&str; 5] = ["longer", "more", "less", "fewer", "later"];

/// All idioms of the tree.
pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let is_prose = |file: &&File| file.path.ends_with(".rs") || file.path.ends_with(".md");
    tree.files().filter(is_prose).flat_map(check_file).collect()
}

fn check_file(file: &File) -> Vec<Finding> {
    let words = words(&file.text);
    let mut findings = Vec::new();
    let mut at = 0;
    while let Some(rest) = words.get(at..).filter(|rest| !rest.is_empty()) {
        let before = at.checked_sub(1).and_then(|at| words.get(at));
        let is_name = before.is_some_and(|word| word.text == "\"")
            && rest.get(1).is_some_and(|word| word.text == "\"");
        let length = idiom(rest)
            .filter(|_| !is_name)
            .or_else(|| is_no(before, rest));
        if let Some(found) = length.and_then(|length| rest.get(..length)) {
            let text: Vec<&str> = found.iter().map(|word| word.text.as_str()).collect();
            let line = found.first().map_or(0, |word| word.line);
            let text = format!(
                "unclear idiom {:?}: name the caller or client, or write \"not a\"",
                text.join(" ")
            );
            findings.push(Finding::new(&file.path, line, text));
        }
        at += length.unwrap_or(1);
    }
    findings
}

/// The number of words of the idiom that `words` begin with.
fn idiom(words: &[Word]) -> Option<usize> {
    let matches = |idiom: &&[&str]| {
        words.len() >= idiom.len()
            && idiom
                .iter()
                .zip(words)
                .all(|(expected, word)| *expected == "*" || *expected == word.text)
    };
    IDIOMS.into_iter().find(matches).map(<[_]>::len)
}

fn is_no(before: Option<&Word>, words: &[Word]) -> Option<usize> {
    let [first, no, noun, ..] = words else {
        return None;
    };
    let is_riddle = matches!(first.text.as_str(), "is" | "are")
        && no.text == "no"
        && !PLAIN_AFTER_NO.contains(&noun.text.as_str())
        && before.is_none_or(|word| word.text != "there");
    is_riddle.then_some(3)
}

/// A word with its line, counted from 1.
struct Word {
    text: String,
    line: usize,
}

/// The words of a text in lower case. The end of a sentence counts as a word, so that no idiom reaches into the next
/// sentence.
fn words(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        let mut word = String::new();
        for letter in line.chars().chain([' ']) {
            if letter.is_alphabetic() || letter == '_' {
                word.extend(letter.to_lowercase());
                continue;
            }
            if !word.is_empty() {
                let text = std::mem::take(&mut word);
                words.push(Word { text, line: number });
            }
            if matches!(letter, '.' | ':' | ';' | '!' | '?' | '`' | '"') {
                let text = letter.to_string();
                words.push(Word { text, line: number });
            }
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        super::super::texts(check(&Tree::of(&[("src/a.rs", text)])))
    }

    /// A text with an idiom in it.
    fn example(idiom: &[&str]) -> String {
        idiom
            .iter()
            .map(|word| if *word == "*" { "rows" } else { word })
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn every_idiom_is_found_once() {
        for idiom in IDIOMS {
            let text = example(idiom);
            assert_eq!(found(&format!("// Here {text}. Then.")).len(), 1, "{text}");
            assert_eq!(
                found(&format!("const A: &str = \"It {text}\";")).len(),
                1,
                "{text}"
            );
        }
    }

    #[test]
    fn a_quoted_name_is_not_an_idiom() {
        let name = IDIOMS[6][0];
        assert_eq!(found(&format!("#[serde(rename = \"{name}\")]")).len(), 0);
        assert_eq!(found(&format!("const A: &str = \"{name} here\";")).len(), 1);
    }

    #[test]
    fn an_idiom_may_cross_lines_but_not_sentences() {
        let who = example(IDIOMS[7]);
        let (is, rest) = who.split_once(' ').unwrap();
        assert_eq!(found(&format!("/// It {is}\n/// {rest} thing.")).len(), 1);
        assert_eq!(found(&format!("/// It {is}. {rest} thing.")).len(), 0);
    }

    #[test]
    fn a_no_before_a_noun_is_found() {
        let riddle = concat!("This is", " no table");
        assert_eq!(found(riddle).len(), 1);
        assert_eq!(found(&riddle.replace("This", "There")).len(), 0);
        assert_eq!(found(&riddle.replace("table", "longer")).len(), 0);
    }
}
