//! Splits, merges, moves, flushes, compactions and snapshots of the servers under test. During a fault they may fail in any
//! way: only what clients see counts, and what a snapshot has that was created.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use partita_bench::{admin, cluster, park_for};
use partita_load::Random;

use super::servers::SERVERS;

/// No range is split while there are so many.
const RANGES_MAX: usize = 6;

/// No snapshot is created while the round has so many.
const SNAPSHOTS_MAX: usize = 2;

/// A snapshot of all ranges.
#[derive(Debug, Clone)]
pub(super) struct Snapshot {
    pub(super) name: String,
    /// When it was asked for, and when it had been created.
    pub(super) taken: [Instant; 2],
}

/// What was done.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// Splits, merges and moves.
    pub(super) of_ranges: u64,
    pub(super) snapshots: Vec<Snapshot>,
}

/// Changes random ranges until `stop` is set. The names of snapshots begin with `prefix`.
pub(super) fn run(
    admins: &[SocketAddr],
    prefix: &str,
    random: &mut Random,
    stop: &AtomicBool,
) -> Changes {
    let (mut changes, mut tries) = (Changes::default(), 0);
    while !stop.load(Ordering::Relaxed) {
        let admin = admins[random.below(admins.len() as u64) as usize];
        if changes.snapshots.len() < SNAPSHOTS_MAX && random.chance(15) {
            tries += 1;
            let name = format!("{prefix}{tries}");
            let began = Instant::now();
            if admin::act_on_snapshot(admin, &name, "create").is_ok() {
                let taken = [began, Instant::now()];
                changes.snapshots.push(Snapshot { name, taken });
            }
        } else {
            changes.of_ranges += u64::from(change(admin, random).unwrap_or(false));
        }
        park_for(Duration::from_millis(100 + random.below(400)));
    }
    changes
}

/// Whether a range was split, merged or moved. A server that cannot ask the others lists few ranges.
fn change(admin: SocketAddr, random: &mut Random) -> anyhow::Result<bool> {
    let ranges = admin::ranges(admin)?.ranges;
    let Some(range) = ranges.get(random.below(ranges.len().max(1) as u64) as usize) else {
        return Ok(false);
    };
    let to = cluster::name(random.below(SERVERS as u64) as usize);
    let to = format!(r#"{{"to":"{to}"}}"#);
    let (action, body) = match random.below(100) {
        0..35 if ranges.len() < RANGES_MAX => ("split", ""),
        0..60 => ("merge", ""),
        60..75 => ("move", &*to),
        75..90 => ("flush", ""),
        _ => ("compact", ""),
    };
    let (status, _) = admin::act(admin, range.id, action, body)?;
    Ok(status == 200 && matches!(action, "split" | "merge" | "move"))
}
