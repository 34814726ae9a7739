//! The command line of `partita`. Each noun, or group of similar commands, has a folder:
//!
//! | folder | commands |
//! | --- | --- |
//! | [`server`] | `serve`, `check`, `connect`, `status`, `hot`, `heat`, `ranges`: a Partita server and its health |
//! | [`admin`] | `admin split` …: actions on a range |
//! | [`config`] | `config show` |
//! | [`cluster`] | `cluster key` |
//! | [`table`], [`entity`], [`log`] | tables, single entities, partitions used as logs |
//! | [`queue`] | queues of an account, and their messages |
//! | [`service`], [`policy`] | settings of a service; stored access policies, for [`table`] and [`queue`] |
//! | [`sas`] | shared access signatures |
//! | [`profile`] | accounts by name |
//! | [`rows`] | `scan`, `count`, `partitions`, `purge`, `explain`: many rows of one table |
//! | [`transfer`] | `copy`, `diff`, `export`, `import`: whole tables |
//! | [`fleet`] | `fleet run` …: work on rows by many worker processes |
//! | [`migrate`], [`stress`] | versioned changes; load tests |
//! | [`snapshot`], [`backup`] | the whole store at one instant, and copies of it |
//! | [`command_line`] | `completions`, `man`, and the whole command line |
//!
//! Commands do everything that concerns a terminal: flags, output formats, confirmation, progress. Their algorithms are
//! in `partita-tools` and `partita-server`. Modules that commands share: [`command`] (how commands run), [`args`]
//! (shared flags), [`output`] (stdout), [`progress`] (stderr), [`screen`] (the terminal), [`lines`] (stdin), [`new_file`]
//! (files that flags name), [`units`] (how numbers are written), [`error`] (errors and exit codes), [`remedy`] (what to
//! do about an error).
//!
//! All commands keep these promises:
//! - stdout has data, stderr has messages. The last message has counts, requests, bytes and time.
//! - Exit code 0: done. 1: nothing found, a difference, or a stress run over its targets. 2: failed.
//! - A command that deletes or overwrites asks first, or needs `--yes`.
//! - A command that reads or moves whole tables says how to resume when it is interrupted.

mod admin;
mod args;
mod argv0;
mod backup;
mod cluster;
mod command;
mod command_line;
mod config;
mod entity;
mod error;
mod fleet;
mod lines;
mod log;
mod migrate;
mod new_file;
mod output;
mod policy;
mod prelude;
mod profile;
mod progress;
mod queue;
mod remedy;
mod resume;
mod rows;
mod sas;
mod scan_session;
mod screen;
mod server;
mod service;
mod signals;
mod snapshot;
mod stress;
mod table;
mod transfer;
mod units;

pub use command_line::main;
pub use partita_server::set_release_freed_memory;
