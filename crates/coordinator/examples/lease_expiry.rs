//! How soon etcd notices that a process died, and what taking a range over costs in etcd.
//!
//!     crates/coordinator/setup
//!     cargo run -p partita-coordinator --example lease_expiry -- [SCENARIO…]
//!
//! Scenarios: `default` (one member, etcd's own timings), `fast` (shorter ones, with which it grants 1 s), `leader` (three
//! members, whose leader dies together with a lease holder), `cost`. Without arguments, all of them.
#![allow(
    missing_docs,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program that prints a report, and ends when something fails"
)]

#[path = "../tests/etcd/members.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod members;
#[path = "../tests/etcd/process.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod process;

use std::sync::Arc;
use std::time::{Duration, Instant};

use fastrand::Rng;
use futures::future::join_all;
use partita_coordinator::registry::{Change, Operation, Transaction, WatchEvent};
use partita_coordinator::{LeaseId, Registry, Revision, Routes, Seen};
use partita_rt::Tasks;
use process::Etcd;

/// Holders that die together. More would measure the processor of this machine.
const HOLDERS: usize = 10;
const KILLS: usize = 200;
const LEADER_KILLS: usize = 12;
const HANDOVERS: usize = 300;
const FAST: [&str; 2] = ["--heartbeat-interval=50", "--election-timeout=500"];

/// A death: when its last answered keepalive was sent, when it died, and when the watch said so.
struct Death {
    kept_at: Instant,
    died_at: Instant,
    seen_at: Instant,
}

#[tokio::main]
async fn main() {
    let chosen: Vec<String> = std::env::args().skip(1).collect();
    let wanted = |name: &str| chosen.is_empty() || chosen.iter().any(|chosen| chosen == name);
    if wanted("default") {
        let etcd = Etcd::start();
        kills("default", &etcd, Duration::from_secs(1)).await;
    }
    if wanted("fast") {
        let etcd = Etcd::start_with(&FAST, "http");
        kills("fast", &etcd, Duration::from_secs(1)).await;
    }
    if wanted("leader") {
        leader_kills("leader", &[]).await;
        leader_kills("leader, fast", &FAST).await;
    }
    if wanted("cost") {
        cost().await;
    }
}

/// Lease holders die, [`HOLDERS`] at a time at random moments.
async fn kills(name: &str, etcd: &Etcd, ttl: Duration) {
    let registry: Arc<dyn Registry> = Arc::new(etcd.registry().await);
    let mut deaths = Vec::new();
    let mut granted = Duration::ZERO;
    for round in 0..KILLS / HOLDERS {
        let holders = (0..HOLDERS).map(|holder| {
            let key = format!("r{round}h{holder}");
            death(Arc::clone(&registry), key, ttl)
        });
        for (ttl, death) in join_all(holders).await {
            granted = ttl;
            deaths.push(death);
        }
    }
    println!("{name}: {KILLS} deaths, {granted:?} granted of {ttl:?} requested");
    report(&deaths);
}

fn report(deaths: &[Death]) {
    let since = |from: fn(&Death) -> Instant| {
        deaths
            .iter()
            .map(move |death| death.seen_at - from(death))
            .collect()
    };
    print("  death to watch", since(|death| death.died_at));
    print("  keepalive to watch", since(|death| death.kept_at));
}

fn print(what: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |share: usize| times[(times.len() - 1) * share / 100].as_secs_f64() * 1e3;
    println!(
        "{what:22} min {:7.1}  p50 {:7.1}  p90 {:7.1}  p99 {:7.1}  max {:7.1} ms",
        at(0),
        at(50),
        at(90),
        at(99),
        at(100)
    );
}

/// One holder lives for a while, and dies between two keepalives.
async fn death(registry: Arc<dyn Registry>, key: String, ttl: Duration) -> (Duration, Death) {
    let mut random = Rng::with_seed(partita_rt::random::u64());
    // etcd looks for expired leases every 500 ms. A round begins when the one before was noticed, so without this pause
    // all deaths would have the same distance from its next look.
    tokio::time::sleep(Duration::from_secs(1).mul_f64(random.f64())).await;
    let granted = registry.grant(ttl).await.unwrap();
    let created = put(&*registry, &key, Some(granted.lease)).await;
    let every = granted.ttl / 4;
    let mut kept_at = Instant::now();
    let lives = every * 2 + every.mul_f64(random.f64());
    let end = Instant::now() + lives;
    loop {
        let sent_at = Instant::now();
        registry.keep_alive(granted.lease).await.unwrap().unwrap();
        kept_at = kept_at.max(sent_at);
        let left = end.saturating_duration_since(Instant::now());
        tokio::time::sleep(left.min(every)).await;
        if left <= every {
            break;
        }
    }
    let died_at = Instant::now();
    let seen_at = deleted(&*registry, &key, created).await;
    let death = Death {
        kept_at,
        died_at,
        seen_at,
    };
    (granted.ttl, death)
}

async fn put(registry: &dyn Registry, key: &str, lease: Option<LeaseId>) -> Revision {
    let change = Operation::Put(key.to_owned(), "holder".into(), lease);
    let transaction = Transaction {
        changes: vec![change],
        ..Transaction::default()
    };
    registry.commit(transaction).await.unwrap();
    registry.get(key).await.unwrap().unwrap().mod_revision
}

/// Waits until a key is deleted, also when the connection breaks.
async fn deleted(registry: &dyn Registry, key: &str, created: Revision) -> Instant {
    loop {
        let Ok(mut watch) = registry.watch(key, created).await else {
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        while let WatchEvent::Changed(_, changes) = watch.next().await {
            let gone = |change: &Change| matches!(change, Change::Deleted(gone) if gone == key);
            if changes.iter().any(gone) {
                return Instant::now();
            }
        }
    }
}

/// The leader of three members and a lease holder die in the same instant.
async fn leader_kills(name: &str, arguments: &[&str]) {
    let mut etcds = Etcd::start_three(arguments);
    let ports = etcds
        .each_ref()
        .map(|etcd| format!("127.0.0.1:{}", etcd.port));
    let url = format!("etcd://{}/test", ports.join(","));
    let registry: Arc<dyn Registry> = Arc::new(process::registry(&url).await);
    let (mut deaths, mut writes) = (Vec::new(), Vec::new());
    for round in 0..LEADER_KILLS {
        let key = format!("l{round}");
        let granted = registry.grant(Duration::from_secs(1)).await.unwrap();
        let created = put(&*registry, &key, Some(granted.lease)).await;
        let kept_at = Instant::now();
        registry.keep_alive(granted.lease).await.unwrap().unwrap();
        let leader = etcds.iter().position(is_leader).unwrap();
        let died_at = Instant::now();
        etcds[leader].kill();
        let writing = async {
            while registry.get("any").await.is_err() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            Instant::now()
        };
        let (seen_at, written_at) = tokio::join!(deleted(&*registry, &key, created), writing);
        writes.push(written_at - died_at);
        deaths.push(Death {
            kept_at,
            died_at,
            seen_at,
        });
        etcds[leader].restart();
        all_answer(&etcds).await;
    }
    println!("{name}: {LEADER_KILLS} deaths of the leader and a holder");
    report(&deaths);
    print("  death to first answer", writes);
}

async fn all_answer(etcds: &[Etcd]) {
    for etcd in etcds {
        etcd.registry().await;
    }
}

fn is_leader(etcd: &Etcd) -> bool {
    let status = etcd.ctl(&["endpoint", "status", "--write-out=json"]);
    let status: serde_json::Value = serde_json::from_str(&status).unwrap();
    let status = &status[0]["Status"];
    status["leader"] == status["header"]["member_id"]
}

/// A range goes back and forth: what each step costs, and when a front knows.
async fn cost() {
    let etcd = Etcd::start();
    let folder = tempfile::tempdir().unwrap();
    let registry: Arc<dyn Registry> = Arc::new(etcd.registry().await);
    let host = members::join(Arc::clone(&registry), "a", folder.path()).await;
    let routes = Routes::follow(Arc::clone(&registry), &Tasks::new());
    let term = members::elected(&host).await;
    let mut tenure = members::served(&term, &host).await;
    let mut steps: [Vec<Duration>; 6] = Default::default();
    for _ in 0..HANDOVERS {
        let began = Instant::now();
        host.release(&tenure).await.unwrap();
        steps[0].push(began.elapsed());
        let key = term.table().await.unwrap().ranges()[&members::RANGE].clone();
        let began = Instant::now();
        let assignment = members::assign(&term, Seen::Key(key), &host).await;
        steps[1].push(began.elapsed());
        members::when(&routes, |table| table.revision() >= assignment.revision).await;
        steps[2].push(began.elapsed());
        let began = Instant::now();
        assert!(host.check(&assignment).await.unwrap());
        steps[3].push(began.elapsed());
        let began = Instant::now();
        tenure = host.activate(&assignment).await.unwrap();
        steps[4].push(began.elapsed());
        members::when(&routes, |table| table.revision() >= tenure.revision).await;
        steps[5].push(began.elapsed());
    }
    let mut confirms = Vec::new();
    for _ in 0..HANDOVERS {
        let began = Instant::now();
        assert!(host.gate().confirm(members::LONG).await);
        confirms.push(began.elapsed());
    }
    println!("cost: {HANDOVERS} hand-overs of a range, one member");
    let names = [
        "release",
        "assign",
        "assign, seen by watch",
        "check",
        "activate",
        "activate, seen by watch",
    ];
    for (name, times) in names.into_iter().zip(steps) {
        print(&format!("  {name}"), times);
    }
    print("  confirm a read", confirms);
}
