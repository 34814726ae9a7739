//! The `partita` binary: command line in, server or answer out. See ARCHITECTURE.md.
//!
//! - stdout is data, stderr is talk.
//! - Exit code 0: done; 1: done, and the answer is no (`connect` found no server); 2: failed.
//! - Called as `azurite` or `azurite-table`, it takes that program's command line.

mod cli;
mod output;
mod verbs;

use std::ffi::OsString;
use std::process::ExitCode;

use cli::Called;

/// Many small allocations of short life on all threads are what a server does; mimalloc is small and good at it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let outcome = match Called::by(&arguments) {
        Called::Partita => verbs::run(&cli::command().get_matches_from(arguments)),
        Called::AzuriteTable => {
            verbs::serve::run(&cli::azurite_command().get_matches_from(arguments))
        }
        Called::OtherService(name) => Err(anyhow::anyhow!(
            "{name} is not here: this server has tables; start it as azurite-table"
        )),
    };
    match outcome {
        Ok(code) => code,
        Err(error) if output::is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            output::talk(&format!("error: {error:#}"));
            ExitCode::from(2)
        }
    }
}
