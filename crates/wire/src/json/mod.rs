//! JSON text without a tree: the scanner below the entity reader, and the reader of error bodies.

mod members;
mod scanner;

pub(crate) use members::read_members;
pub(crate) use scanner::{Scanner, Token, unescape};
