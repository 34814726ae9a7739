//! The `partita` binary: the allocator, and a call of the command line. See ARCHITECTURE.md.

use std::process::ExitCode;

/// A server makes many small, short-lived allocations on all threads; mimalloc is small and fast at them.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    partita_cli::main(std::env::args_os().collect())
}
