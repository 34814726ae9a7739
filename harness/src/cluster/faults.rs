//! Faults of a cluster: what a seed chooses, how long it lasts, and how it is healed. Planned changes count as faults here.

use std::fmt;
use std::time::Duration;

use anyhow::ensure;
use partita_bench::park_for;
use partita_load::Random;

use super::members;
use super::proxy::Behaviour;
use super::servers::{Cluster, SERVERS};
use crate::preload::{self, EIO, ENOSPC, Extent};

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
    /// The history of etcd's keys is forgotten while the server's link to it is cut.
    CompactEtcd,
    /// Ceph's process with the objects stands still.
    StopOsd,
    /// Ceph's process with the objects is killed, and started again later.
    KillOsd,
    /// Its link to the gateway of Ceph behaves so.
    ToStore(Behaviour),
    /// Its calls to a store in a folder behave so.
    Store(StoreFault),
    /// Its wall clock is so many seconds wrong.
    Clock(i64),
    /// As [`Self::Kill`], and it starts with such a clock.
    KillAndClock(i64),
    /// It is drained, and gets ranges again later.
    Drain,
    /// It is ended by SIGTERM, and started again later.
    Terminate,
    /// All others are ended by SIGTERM, one after the other, and started again later.
    TerminateOthers,
    /// One more server joins, gets a range, and is ended by SIGTERM.
    Join,
}

/// How calls to the store behave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StoreFault {
    /// They wait until the fault is over.
    Held,
    /// A share of them fails.
    Failing,
    /// Half of those that create an object fail after they have created it.
    FailingAfter,
    /// Those of all servers that write fail, because the folder has no space left.
    Full,
}

impl StoreFault {
    /// As the library for the server wants it.
    fn calls(self) -> preload::Fault {
        let all = "open,create,read,write,truncate,sync,rename,link,unlink";
        let (operations, errno, permille, extent) = match self {
            Self::Held => (all, EIO, 1_000, Extent::Hold),
            Self::Failing => (all, EIO, 300, Extent::Whole),
            Self::FailingAfter => ("rename,link", EIO, 500, Extent::After),
            Self::Full => ("create,write", ENOSPC, 1_000, Extent::Whole),
        };
        preload::Fault {
            operations,
            errno,
            permille,
            extent,
            part: "store",
        }
    }
}

/// A fault of a round.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fault {
    pub(super) kind: Kind,
    /// The server that it strikes, counted from 0.
    pub(super) victim: usize,
    pub(super) lasts: Duration,
}

/// All kinds of faults; those that are listed twice occur more often.
const KINDS: [Kind; 37] = [
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
    Kind::CompactEtcd,
    Kind::Store(StoreFault::Held),
    Kind::Store(StoreFault::Held),
    Kind::Store(StoreFault::Failing),
    Kind::Store(StoreFault::FailingAfter),
    Kind::Store(StoreFault::Full),
    Kind::StopOsd,
    Kind::KillOsd,
    Kind::ToStore(Behaviour::Cut),
    Kind::ToStore(Behaviour::NoAnswers),
    Kind::ToStore(Behaviour::DropAnswers),
    Kind::Clock(30),
    Kind::Clock(-30),
    Kind::KillAndClock(30),
    Kind::KillAndClock(-30),
    Kind::Drain,
    Kind::Drain,
    Kind::Terminate,
    Kind::TerminateOthers,
    Kind::Join,
];

/// The kinds in random order. When each has occurred, all come again in another order.
#[derive(Debug)]
pub(super) struct Deck {
    all: Vec<Kind>,
    left: Vec<Kind>,
}

impl Deck {
    /// The kinds whose names contain one of the texts, and which this store can have.
    pub(super) fn new(texts: &[String], with_ceph: bool) -> anyhow::Result<Self> {
        let all = KINDS.into_iter().filter(|kind| match kind {
            Kind::StopOsd | Kind::KillOsd | Kind::ToStore(_) => with_ceph,
            Kind::Store(_) => !with_ceph,
            _ => true,
        });
        let is_meant = |name: &str| texts.iter().any(|text| name.contains(text.as_str()));
        let all: Vec<Kind> = all.filter(|kind| is_meant(&kind.to_string())).collect();
        ensure!(!all.is_empty(), "no fault is called {}", texts.join(" or "));
        Ok(Self {
            all,
            left: Vec::new(),
        })
    }

    fn draw(&mut self, random: &mut Random) -> Kind {
        if self.left.is_empty() {
            self.left = self.all.clone();
        }
        let chosen = random.below(self.left.len() as u64) as usize;
        self.left.swap_remove(chosen)
    }
}

impl Fault {
    /// A random fault. It mostly strikes a server that serves ranges, or the manager.
    pub(super) fn random(random: &mut Random, deck: &mut Deck, cluster: &Cluster) -> Self {
        let kind = deck.draw(random);
        let any = random.below(SERVERS as u64) as usize;
        let aimed = match random.below(100) {
            0..45 => cluster.serving(),
            45..70 => cluster.manager(),
            _ => None,
        };
        Self {
            kind,
            victim: aimed.unwrap_or(any),
            lasts: Duration::from_millis(match kind {
                Kind::Restart => 0,
                Kind::Stop | Kind::StopEtcd | Kind::StopOsd => 3_000 + random.below(7_000),
                Kind::Store(StoreFault::Held) => 10_000,
                _ => 2_000 + random.below(5_000),
            }),
        }
    }

    /// Whether clients of this server are struck in any case.
    pub(super) fn strikes(&self, server: usize) -> bool {
        match self.kind {
            Kind::KillEtcd | Kind::StopEtcd | Kind::WipeEtcd | Kind::Join => false,
            Kind::StopOsd | Kind::KillOsd | Kind::Store(StoreFault::Full) => true,
            Kind::TerminateOthers => server != self.victim,
            _ => server == self.victim,
        }
    }

    /// Whether requests are answered late, but none is refused: a client sees no error, however long it lasts.
    pub(super) fn only_delays(&self) -> bool {
        self.kind == Kind::Store(StoreFault::Held)
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
        let program = match (self.kind, &cluster.ceph) {
            (Kind::KillEtcd | Kind::StopEtcd, _) => &cluster.etcd,
            (Kind::KillOsd | Kind::StopOsd, Some(ceph)) => &ceph.osd,
            _ => &victim.own.program,
        };
        match self.kind {
            Kind::Restart | Kind::Kill | Kind::KillEtcd | Kind::KillOsd => {
                program.kill();
                park_for(self.lasts);
                program.up()?;
            }
            Kind::Stop | Kind::StopEtcd | Kind::StopOsd => {
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
            Kind::ToStore(behaviour) => {
                victim.set_link_to_store(behaviour);
                park_for(self.lasts);
            }
            Kind::CompactEtcd => {
                victim.to_etcd.set(Behaviour::Cut);
                park_for(self.lasts);
                cluster.compact_etcd()?;
            }
            Kind::Store(fault) => {
                let struck = cluster.servers.iter().enumerate();
                for (_, server) in struck.filter(|(number, _)| self.strikes(*number)) {
                    server.preload.set(0, &[fault.calls()])?;
                }
                park_for(self.lasts);
            }
            Kind::Clock(shift) => {
                victim.preload.set(shift, &[])?;
                park_for(self.lasts);
            }
            Kind::KillAndClock(shift) => {
                program.kill();
                victim.preload.set(shift, &[])?;
                program.up()?;
                park_for(self.lasts);
            }
            Kind::Drain => members::drain(cluster, self.victim, self.lasts)?,
            Kind::Terminate => members::terminate(cluster, &[self.victim], self.lasts)?,
            Kind::TerminateOthers => {
                let others = (0..SERVERS).filter(|server| *server != self.victim);
                let others: Vec<usize> = others.collect();
                members::terminate(cluster, &others, self.lasts)?;
            }
            Kind::Join => members::join(cluster, self.lasts)?,
        }
        self.heal(cluster)
    }

    fn heal(&self, cluster: &Cluster) -> anyhow::Result<()> {
        let victim = &cluster.servers[self.victim];
        victim.to_etcd.set(Behaviour::Open);
        victim.from_peers.set(Behaviour::Open);
        victim.set_link_to_store(Behaviour::Open);
        for server in &cluster.servers {
            server.preload.set(0, &[])?;
        }
        match (self.kind, &cluster.ceph) {
            // How long Ceph takes to recover says nothing about the servers, whose recovery is limited from here on.
            (Kind::KillOsd | Kind::StopOsd, Some(ceph)) => ceph.await_writes(),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, seconds) = (self.kind, self.lasts.as_secs_f64());
        match self.kind {
            Kind::KillEtcd
            | Kind::StopEtcd
            | Kind::WipeEtcd
            | Kind::KillOsd
            | Kind::StopOsd
            | Kind::Store(StoreFault::Full)
            | Kind::Join => {
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
            Self::KillOsd => return f.write_str("kill Ceph's OSD"),
            Self::StopOsd => return f.write_str("stop Ceph's OSD"),
            Self::CompactEtcd => return f.write_str("compact etcd behind a cut link"),
            Self::Store(StoreFault::Held) => return f.write_str("store held"),
            Self::Store(StoreFault::Failing) => return f.write_str("store failing"),
            Self::Store(StoreFault::FailingAfter) => return f.write_str("store failing after it"),
            Self::Store(StoreFault::Full) => return f.write_str("store full"),
            Self::Clock(shift) => return write!(f, "clock {shift:+} s"),
            Self::KillAndClock(shift) => return write!(f, "kill, and clock {shift:+} s"),
            Self::Drain => return f.write_str("drain"),
            Self::Terminate => return f.write_str("SIGTERM"),
            Self::TerminateOthers => return f.write_str("SIGTERM of all others"),
            Self::Join => return f.write_str("join of a server"),
            Self::ToEtcd(behaviour) => ("link to etcd", behaviour),
            Self::FromPeers(behaviour) => ("link from peers", behaviour),
            Self::ToStore(behaviour) => ("link to the store", behaviour),
        };
        let behaviour = match behaviour {
            Behaviour::Open => "open",
            Behaviour::Delay(_) => "late",
            Behaviour::Cut => "cut",
            Behaviour::NoAnswers => "without answers",
            Behaviour::NoRequests => "without requests",
            Behaviour::DropAnswers => "answers dropped",
        };
        write!(f, "{link} {behaviour}")
    }
}
