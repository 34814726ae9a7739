//! The `partita` binary.

fn main() {}
