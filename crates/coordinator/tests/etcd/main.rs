//! The coordinator with real etcd processes. `./test cluster` runs it.
#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

mod faults;
mod members;
mod process;
mod secured;

use std::sync::Arc;

use partita_coordinator::registry::conformance;

use process::Etcd;

#[tokio::test]
async fn etcd_conforms() {
    let etcd = Etcd::start();
    conformance::check(Arc::new(etcd.registry().await)).await;
}
