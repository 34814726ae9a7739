//! Splits, merges, flushes and compactions of the servers under test. During a fault they may fail in any way: only what
//! clients see counts.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use partita_bench::{admin, park_for};
use partita_load::Random;

/// No range is split while there are so many.
const RANGES_MAX: usize = 6;

/// Changes random ranges until `stop` is set, and returns how many splits and merges succeeded.
pub(super) fn run(admins: &[SocketAddr], random: &mut Random, stop: &AtomicBool) -> u64 {
    let mut done = 0;
    while !stop.load(Ordering::Relaxed) {
        let admin = admins[random.below(admins.len() as u64) as usize];
        done += u64::from(change(admin, random).unwrap_or(false));
        park_for(Duration::from_millis(100 + random.below(400)));
    }
    done
}

/// Whether a range was split or merged. Most servers list no ranges.
fn change(admin: SocketAddr, random: &mut Random) -> anyhow::Result<bool> {
    let ranges = admin::ranges(admin)?.ranges;
    let Some(range) = ranges.get(random.below(ranges.len().max(1) as u64) as usize) else {
        return Ok(false);
    };
    let action = match random.below(100) {
        0..40 if ranges.len() < RANGES_MAX => "split",
        0..70 => "merge",
        70..90 => "flush",
        _ => "compact",
    };
    let (status, _) = admin::act(admin, range.id, action, "")?;
    Ok(status == 200 && matches!(action, "split" | "merge"))
}
