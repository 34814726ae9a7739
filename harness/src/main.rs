//! `cargo harness NAME`: tests of the whole server, from outside. See the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    partita_harness::main()
}
