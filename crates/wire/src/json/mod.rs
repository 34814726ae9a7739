//! JSON without a tree in memory: the scanner that the readers use, and the strings that the writers write.

mod scanner;
mod text;

pub(crate) use scanner::{Scanner, Token, unescape};
pub(crate) use text::{push_string, push_text};
