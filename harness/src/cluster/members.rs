//! Planned changes of the cluster: servers are drained, ended, and join.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use partita_bench::cluster::name;
use partita_bench::{admin, park_for};

use super::servers::{Cluster, SERVERS, Server};

/// How long a planned change may take. It takes seconds; the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(120);

/// The pause between two looks at the cluster.
const LOOK: Duration = Duration::from_millis(50);

/// Drains a server, keeps it empty for a while, and gives it ranges again.
pub(super) fn drain(cluster: &Cluster, victim: usize, lasts: Duration) -> anyhow::Result<()> {
    let name = name(victim);
    until(&format!("drain of {name}"), || act(cluster, &name, "drain"))?;
    let emptied = until(&format!("end of the ranges of {name}"), || {
        cluster.ranges_of(&name) == Some(0)
    });
    park_for(lasts);
    until(&format!("undrain of {name}"), || {
        act(cluster, &name, "undrain")
    })?;
    emptied
}

/// Ends servers by SIGTERM, one after the other, and starts them again after a while.
pub(super) fn terminate(
    cluster: &Cluster,
    victims: &[usize],
    lasts: Duration,
) -> anyhow::Result<()> {
    for victim in victims {
        cluster.servers[*victim].own.program.terminate()?;
    }
    park_for(lasts);
    for victim in victims {
        cluster.servers[*victim].own.program.up()?;
    }
    Ok(())
}

/// One more server joins, gets a range, and is ended by SIGTERM after a while.
pub(super) fn join(cluster: &Cluster, lasts: Duration) -> anyhow::Result<()> {
    let name = name(SERVERS);
    let spare = &cluster.spare;
    spare.own.program.up()?;
    until(&format!("{name} as a member"), || {
        cluster.ranges_of(&name).is_some()
    })?;
    until(&format!("a range at {name}"), || {
        cluster.ranges_of(&name) > Some(0) || move_any(cluster, &name).unwrap_or(false)
    })?;
    park_for(lasts);
    spare.own.program.terminate()
}

/// Moves the first range to a server; whether that succeeded.
fn move_any(cluster: &Cluster, name: &str) -> anyhow::Result<bool> {
    let admin = cluster.servers[0].own.admin;
    let ranges = admin::ranges(admin)?.ranges;
    let range = ranges.first().context("the cluster has no range")?;
    let body = format!(r#"{{"to":"{name}"}}"#);
    Ok(admin::act(admin, range.id, "move", &body)?.0 == 200)
}

/// Asks one of the servers for an action on a server; whether it was done.
fn act(cluster: &Cluster, name: &str, action: &str) -> bool {
    let acts = |server: &Server| {
        let answer = admin::act_on_server(server.own.admin, name, action);
        answer.is_ok_and(|(status, _)| status == 200)
    };
    cluster.servers.iter().any(acts)
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) -> anyhow::Result<()> {
    let began = Instant::now();
    while !is_so() {
        ensure!(began.elapsed() < PATIENCE, "no {what} after {PATIENCE:?}");
        park_for(LOOK);
    }
    Ok(())
}
