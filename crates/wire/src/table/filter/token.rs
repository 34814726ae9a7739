//! A token of a filter: a slice of its text.

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The end of the text.
    End,
    /// `(`
    Open,
    /// `)`
    Close,
    /// A name or a keyword.
    Word,
    /// A number with its suffix.
    Number,
    /// A quoted literal with the word before its quote.
    Quoted,
    /// A `-` that does not begin a number, and characters that only other parts of OData use: `,`, `/`, `:`, `*`, `=`,
    /// `$`.
    Sign,
}

/// A token and its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind,
    pub(super) text: &'a str,
    /// The start of the token.
    pub(super) start: usize,
}

impl<'a> Token<'a> {
    /// The end of the token.
    pub(super) const fn end(&self) -> usize {
        self.start + self.text.len()
    }

    /// Whether the token is this word.
    pub(super) fn is_word(&self, word: &str) -> bool {
        self.kind == Kind::Word && self.text == word
    }
}
