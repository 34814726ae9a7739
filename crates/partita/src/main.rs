//! The `partita` binary: the allocator, and a call of the command line. See ARCHITECTURE.md.

use std::process::ExitCode;

/// A server makes many small, short-lived allocations on all threads; mimalloc is small and fast at them.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The C library reserves 64 MiB of the address space for each thread that allocates with it, as every new thread does
/// once. One arena for all threads is enough, because the program allocates with mimalloc. The reserved address space
/// counts under `ulimit -v`.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[allow(unsafe_code, reason = "the C library has no other interface for it")]
fn share_c_arena() {
    const M_ARENA_MAX: i32 = -8;
    unsafe extern "C" {
        fn mallopt(parameter: i32, value: i32) -> i32;
    }
    // SAFETY: called before any other thread exists, with a parameter and a value that mallopt(3) lists.
    unsafe { mallopt(M_ARENA_MAX, 1) };
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn share_c_arena() {}

/// Without it, mimalloc returns freed memory at most a second after it was freed, and only if the program frees more then.
#[allow(unsafe_code, reason = "the crate mimalloc has no interface for it")]
fn release_freed_memory() {
    unsafe extern "C" {
        fn mi_collect(force: bool);
    }
    // SAFETY: mimalloc's documentation has this function with this parameter, and any thread may call it at any time.
    unsafe { mi_collect(true) };
}

fn main() -> ExitCode {
    share_c_arena();
    partita_cli::set_release_freed_memory(release_freed_memory);
    partita_cli::main(std::env::args_os().collect())
}
