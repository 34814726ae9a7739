//! Faults of a cluster: what a seed chooses, how long it lasts, and how it is healed.

use std::fmt;
use std::time::Duration;

use partita_bench::park_for;
use partita_load::Random;

use super::proxy::Behaviour;
use super::servers::{Cluster, SERVERS};

/// What happens to a server, or to etcd.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Killed, and started again at once.
    Restart,
    /// Killed, and started again when another server may have taken over.
    Kill,
    /// It stands still.
    Stop,
    /// Its link to etcd behaves so.
    ToEtcd(Behaviour),
    /// The link from the other servers to it behaves so.
    FromPeers(Behaviour),
    /// etcd is killed, and started again later.
    KillEtcd,
    /// etcd stands still.
    StopEtcd,
    /// All keys of etcd are deleted.
    WipeEtcd,
}

/// A fault of a round.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fault {
    pub(super) kind: Kind,
    /// The server that it strikes, counted from 0.
    pub(super) victim: usize,
    pub(super) lasts: Duration,
}

/// All kinds of faults; those that are listed twice are chosen more often.
const KINDS: [Kind; 17] = [
    Kind::Restart,
    Kind::Kill,
    Kind::Kill,
    Kind::Stop,
    Kind::Stop,
    Kind::ToEtcd(Behaviour::Cut),
    Kind::ToEtcd(Behaviour::NoAnswers),
    Kind::ToEtcd(Behaviour::NoRequests),
    Kind::ToEtcd(Behaviour::DropAnswers),
    Kind::ToEtcd(Behaviour::Delay(Duration::from_millis(200))),
    Kind::FromPeers(Behaviour::Cut),
    Kind::FromPeers(Behaviour::NoAnswers),
    Kind::FromPeers(Behaviour::DropAnswers),
    Kind::FromPeers(Behaviour::Delay(Duration::from_millis(100))),
    Kind::KillEtcd,
    Kind::StopEtcd,
    Kind::WipeEtcd,
];

impl Fault {
    /// A random fault. It mostly strikes a server that serves ranges.
    pub(super) fn random(random: &mut Random, serving: Option<usize>) -> Self {
        let kind = KINDS[random.below(KINDS.len() as u64) as usize];
        let any = random.below(SERVERS as u64) as usize;
        let aims = random.chance(60);
        Self {
            kind,
            victim: serving.filter(|_| aims).unwrap_or(any),
            lasts: Duration::from_millis(match kind {
                Kind::Restart => 0,
                Kind::Stop | Kind::StopEtcd => 3_000 + random.below(7_000),
                _ => 2_000 + random.below(5_000),
            }),
        }
    }

    /// Whether clients of this server are struck in any case.
    pub(super) fn strikes(&self, server: usize) -> bool {
        match self.kind {
            Kind::KillEtcd | Kind::StopEtcd | Kind::WipeEtcd => false,
            _ => server == self.victim,
        }
    }

    /// A fault of another server at the same time, which begins in the middle of this one and ends with it.
    pub(super) fn second(&self, random: &mut Random) -> Self {
        let other = (self.victim + 1 + random.below(SERVERS as u64 - 1) as usize) % SERVERS;
        let kinds = [
            Kind::Restart,
            Kind::Kill,
            Kind::Stop,
            Kind::ToEtcd(Behaviour::Cut),
        ];
        Self {
            kind: kinds[random.below(kinds.len() as u64) as usize],
            victim: other,
            lasts: self.lasts / 2,
        }
    }

    /// Causes the fault, waits, and heals it.
    pub(super) fn run(&self, cluster: &Cluster) -> anyhow::Result<()> {
        let victim = &cluster.servers[self.victim];
        let program = match self.kind {
            Kind::KillEtcd | Kind::StopEtcd => &cluster.etcd,
            _ => &victim.own.program,
        };
        match self.kind {
            Kind::Restart | Kind::Kill | Kind::KillEtcd => {
                program.kill();
                park_for(self.lasts);
                program.up()?;
            }
            Kind::Stop | Kind::StopEtcd => {
                program.stop();
                park_for(self.lasts);
                program.go_on();
            }
            Kind::WipeEtcd => {
                cluster.wipe_etcd()?;
                park_for(self.lasts);
            }
            Kind::ToEtcd(behaviour) => {
                victim.to_etcd.set(behaviour);
                park_for(self.lasts);
            }
            Kind::FromPeers(behaviour) => {
                victim.from_peers.set(behaviour);
                park_for(self.lasts);
            }
        }
        victim.to_etcd.set(Behaviour::Open);
        victim.from_peers.set(Behaviour::Open);
        Ok(())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, seconds) = (self.kind, self.lasts.as_secs_f64());
        match self.kind {
            Kind::KillEtcd | Kind::StopEtcd | Kind::WipeEtcd => {
                write!(f, "{kind} for {seconds:.1} s")
            }
            _ => write!(f, "{kind} of server {} for {seconds:.1} s", self.victim + 1),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (link, behaviour) = match self {
            Self::Restart => return f.write_str("kill and restart"),
            Self::Kill => return f.write_str("kill"),
            Self::Stop => return f.write_str("stop"),
            Self::KillEtcd => return f.write_str("kill etcd"),
            Self::StopEtcd => return f.write_str("stop etcd"),
            Self::WipeEtcd => return f.write_str("wipe etcd"),
            Self::ToEtcd(behaviour) => ("to etcd", behaviour),
            Self::FromPeers(behaviour) => ("from peers", behaviour),
        };
        let behaviour = match behaviour {
            Behaviour::Open => "open",
            Behaviour::Delay(_) => "late",
            Behaviour::Cut => "cut",
            Behaviour::NoAnswers => "without answers",
            Behaviour::NoRequests => "without requests",
            Behaviour::DropAnswers => "answers dropped",
        };
        write!(f, "link {link} {behaviour}")
    }
}
