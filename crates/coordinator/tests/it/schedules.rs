//! Random schedules: three processes with clocks of different rates, slow and lossy connections, crashes, restarts,
//! expulsions and wipes, each process host and candidate for manager. At no time do two of them pass the gate for a range,
//! and no answer of an earlier tenure follows one of a later.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use parking_lot::Mutex;
use partita_coordinator::{
    Assignment, Election, Gate, Member, MemberParts, Owner, OwnershipError, Placement, RangeId,
    Registry, Seen, ServerInfo, Table, Tenure, Term, TermError,
};
use partita_rt::{Tasks, TokioClock};

use crate::link::Link;
use crate::world::{TTL, World, absent};

const RANGES: [RangeId; 2] = [RangeId(1), RangeId(2)];
const DURATION: Duration = Duration::from_secs(90);
/// More of them find nothing new: without rule I3 or the gate, the first ones fail.
const SEEDS: u64 = 12;
/// Time between two looks of the observer; the margin of the gate is 60 ms.
const LOOK: Duration = Duration::from_millis(5);

/// What an observer sees of all processes at once.
#[derive(Default)]
struct Observed {
    /// What each process believes that it serves.
    claims: Vec<Claim>,
    /// The newest tenure that gave an answer.
    answered: BTreeMap<RangeId, u64>,
    tenures: u32,
    answers: u32,
}

#[derive(Clone)]
struct Claim {
    owner: Owner,
    tenure: Tenure,
    gate: Gate,
}

impl Observed {
    fn check(&self) {
        for range in RANGES {
            let open = self
                .claims
                .iter()
                .filter(|claim| claim.tenure.range == range && claim.gate.is_open());
            let open: Vec<&Owner> = open.map(|claim| &claim.owner).collect();
            assert!(open.len() <= 1, "two pass the gate for {range}: {open:?}");
        }
    }

    /// An answer leaves, if the range is still served and the gate is open.
    fn answer(&mut self, claim: &Claim) {
        let served = self
            .claims
            .iter()
            .any(|other| other.owner == claim.owner && other.tenure == claim.tenure);
        if !served || !claim.gate.is_open() {
            return;
        }
        let newest = self.answered.entry(claim.tenure.range).or_default();
        let revision = claim.tenure.revision.0;
        assert!(*newest <= revision, "an earlier tenure answers");
        *newest = revision;
        self.answers += 1;
    }
}

type Shared = Arc<Mutex<Observed>>;

/// A life that runs.
struct Running<'a> {
    member: &'a Member,
    link: &'a Link,
    observed: &'a Shared,
    random: Mutex<Rng>,
}

impl Running<'_> {
    fn chance(&self, one_in: u32) -> bool {
        self.random.lock().u32(..one_in) == 0
    }

    /// Any step may take long: the process is paused.
    async fn pause(&self) {
        let millis = {
            let mut random = self.random.lock();
            match random.u32(..30) {
                0 => random.u64(1_000..5_000),
                _ => random.u64(0..60),
            }
        };
        tokio::time::sleep(Duration::from_millis(millis)).await;
    }

    fn one_of<'a>(&self, names: &[&'a str]) -> Option<&'a str> {
        self.random.lock().choice(names).copied()
    }

    fn claims(&self) -> Vec<Claim> {
        let observed = self.observed.lock();
        let own = observed.claims.iter();
        own.filter(|claim| claim.owner == *self.member.owner())
            .cloned()
            .collect()
    }

    fn drop_claim(&self, tenure: &Tenure) {
        let mut observed = self.observed.lock();
        let own = |claim: &Claim| claim.owner == *self.member.owner() && claim.tenure == *tenure;
        observed.claims.retain(|claim| !own(claim));
    }

    /// Opens what is assigned, and sometimes gives a range away.
    async fn host(&self) {
        loop {
            self.pause().await;
            let Ok(table) = Table::read(self.link).await else {
                continue;
            };
            for (range, key) in table.ranges() {
                if let Some(assignment) = Assignment::of(*range, key, self.member.owner()) {
                    self.open(&assignment).await;
                }
            }
            for claim in self.claims() {
                if self.chance(15) {
                    self.pause().await;
                    self.drop_claim(&claim.tenure);
                    self.pause().await;
                    let _ = self.member.release(&claim.tenure).await;
                }
            }
        }
    }

    async fn open(&self, assignment: &Assignment) {
        if !self.member.check(assignment).await.unwrap_or(false) {
            return;
        }
        self.pause().await;
        let tenure = loop {
            match self.member.activate(assignment).await {
                Ok(tenure) => break tenure,
                Err(OwnershipError::Registry(_)) => self.pause().await,
                Err(_) => return,
            }
        };
        let mut observed = self.observed.lock();
        observed.tenures += 1;
        observed.claims.push(Claim {
            owner: self.member.owner().clone(),
            tenure,
            gate: self.member.gate().clone(),
        });
        observed.check();
    }

    /// Answers requests: the gate is asked after the work.
    async fn serve(&self) {
        loop {
            let claims = self.claims();
            self.pause().await;
            for claim in claims {
                self.observed.lock().answer(&claim);
            }
        }
    }

    /// Stands for election, and manages for a term.
    async fn manage(&self) {
        loop {
            self.pause().await;
            if let Ok(Election::Elected(term)) = self.member.stand().await {
                while self.decide(&term).await != Err(TermError::Over) {
                    self.pause().await;
                }
            }
        }
    }

    async fn decide(&self, term: &Term) -> Result<(), TermError> {
        let table = term.table().await?;
        for (life, expulsion) in table.expelled() {
            let lease = Duration::from_millis(expulsion.record.lease_ms);
            term.settle(*life, lease).await?;
        }
        let servers: Vec<&str> = table.servers().keys().map(String::as_str).collect();
        for range in RANGES {
            let seen = match table.ranges().get(&range) {
                Some(key) => Seen::Key(key.clone()),
                None => absent(),
            };
            let Some(name) = self.one_of(&servers) else {
                return Ok(());
            };
            self.pause().await;
            let to = Owner {
                name: name.to_owned(),
                life: table.servers()[name].record.life,
            };
            let placement = Placement { range, seen, to };
            // On old news, and sometimes twice.
            let mut assigned = term.assign(std::slice::from_ref(&placement)).await;
            if self.chance(5) {
                self.pause().await;
                assigned = term.assign(&[placement]).await;
            }
            if assigned == Err(TermError::Over) {
                return Err(TermError::Over);
            }
        }
        if self.chance(20)
            && let Some(name) = self.one_of(&servers)
            && name != self.member.owner().name
        {
            let server = &table.servers()[name].record;
            let victim = Owner {
                name: name.to_owned(),
                life: server.life,
            };
            let expelled = self.member.expel(&victim, server.lease_ms);
            let _ = expelled.await;
        }
        Ok(())
    }

    async fn crashes(&self) {
        let millis = self.random.lock().u64(3_000..40_000);
        tokio::time::sleep(Duration::from_millis(millis)).await;
    }
}

/// A process: life after life.
async fn process(world: Arc<World>, name: &'static str, seed: u64, observed: Shared) {
    let mut random = Rng::with_seed(seed);
    let clock = Arc::new(TokioClock::with_rate(0.99 + 0.02 * random.f64()));
    loop {
        let link = Link::random(world.registry(), random.u64(..));
        let parts = MemberParts {
            registry: link.clone() as Arc<dyn Registry>,
            clock: clock.clone(),
            tasks: Tasks::new(),
            name: name.to_owned(),
            info: ServerInfo::default(),
            ttl: TTL,
            state_dir: world.state_dir(name),
        };
        let Ok(member) = Member::join(parts).await else {
            tokio::time::sleep(Duration::from_millis(random.u64(10..500))).await;
            continue;
        };
        let running = Running {
            member: &member,
            link: &link,
            observed: &observed,
            random: Mutex::new(random.fork()),
        };
        tokio::select! {
            () = running.host() => {}
            () = running.serve() => {}
            () = running.manage() => {}
            () = running.crashes() => {}
            () = member.gate().over() => {}
        }
        // Memory is lost first, then the lock.
        let mut seen = observed.lock();
        seen.claims.retain(|claim| claim.owner != *member.owner());
        drop(seen);
        drop(member);
    }
}

/// One schedule. Returns how often ranges were activated and answers left.
async fn schedule(seed: u64) -> (u32, u32) {
    let world = Arc::new(World::new());
    let observed = Shared::default();
    let mut random = Rng::with_seed(seed);
    let tasks = Tasks::new();
    let running: Vec<_> = ["a", "b", "c"]
        .map(|name| {
            let process = process(
                Arc::clone(&world),
                name,
                random.u64(..),
                Arc::clone(&observed),
            );
            tasks.spawn("process", process)
        })
        .into();
    let mut wipe_in = Some(Duration::from_millis(random.u64(20_000..120_000)));
    let began = tokio::time::Instant::now();
    while began.elapsed() < DURATION {
        tokio::time::sleep(LOOK).await;
        observed.lock().check();
        if wipe_in.take_if(|wipe| *wipe <= began.elapsed()).is_some() {
            world.memory.wipe();
        }
        for process in &running {
            assert!(!process.is_finished(), "a process panicked");
        }
    }
    for process in running {
        process.abort();
    }
    let observed = observed.lock();
    (observed.tenures, observed.answers)
}

#[test]
fn no_two_processes_serve_a_range() {
    let (mut tenures, mut answers) = (0, 0);
    for seed in 0..SEEDS {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            runtime.block_on(schedule(seed))
        }));
        match found {
            Ok(counts) => {
                tenures += counts.0;
                answers += counts.1;
            }
            Err(_) => panic!("the schedule of seed {seed} breaks a rule"),
        }
    }
    // A schedule in which nothing is served proves nothing.
    assert!(tenures > 10 * SEEDS as u32, "{tenures} tenures");
    assert!(answers > 100 * SEEDS as u32, "{answers} answers");
}
