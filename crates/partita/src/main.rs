//! The `partita` binary: the allocator, and a call of the command line. See ARCHITECTURE.md.

use std::process::ExitCode;

/// Many small allocations of short life on all threads are what a server does; mimalloc is small and good at it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    partita_cli::main(std::env::args_os().collect())
}
