//! `cargo harness ceph`: starts a Ceph, writes an object and ends it. So `./test ceph` knows whether this machine can run it,
//! before the test of our servers over it.

use std::time::Instant;

use partita_bench::cluster::Ceph;

use crate::setup::scratch;

/// Starts a Ceph and ends it.
pub(crate) fn run() -> anyhow::Result<()> {
    let folder = scratch("ceph")?;
    let began = Instant::now();
    let outcome = Ceph::start(folder.path()).and_then(|ceph| ceph.await_writes());
    if outcome.is_err() {
        eprintln!("ceph: the logs are kept in {}", folder.keep().display());
    }
    outcome?;
    let seconds = began.elapsed().as_secs_f64();
    println!("ceph: it runs, and took a write after {seconds:.1} s");
    Ok(())
}
