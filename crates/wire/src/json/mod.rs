//! JSON text without a tree: the scanner below the readers, and the strings of the writers.

mod scanner;
mod text;

pub(crate) use scanner::{Scanner, Token, unescape};
pub(crate) use text::{push_string, push_text};
