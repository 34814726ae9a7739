//! Random moves, crashes and restarts of three processes and a single server, compared with a model of the rows.

use proptest::collection::vec;

use super::*;
use crate::Batch;

const RANGES: u64 = 2;
const PROCESSES: usize = 3;

#[derive(Clone, Debug)]
enum Step {
    /// Writes or deletes a key of a range.
    Write {
        range: u64,
        key: u8,
        deletes: bool,
    },
    Flush {
        range: u64,
    },
    /// Moves a range to a process: by a hand-over, or by a take-over if its owner is dead.
    Move {
        range: u64,
        to: usize,
    },
    Kill {
        process: usize,
    },
    /// Deletes the logs that no range needs.
    Collect,
    /// All processes die; a single server writes to all ranges, and dies.
    SingleServer,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let (range, process) = (|| 1..=RANGES, || 0..PROCESSES);
    let step = prop_oneof![
        8 => (range(), 0_u8..8, proptest::bool::weighted(0.25))
            .prop_map(|(range, key, deletes)| Step::Write { range, key, deletes }),
        1 => range().prop_map(|range| Step::Flush { range }),
        4 => (range(), process()).prop_map(|(range, to)| Step::Move { range, to }),
        2 => process().prop_map(|process| Step::Kill { process }),
        1 => Just(Step::Collect),
        1 => Just(Step::SingleServer),
    ];
    vec(step, 1..30)
}

/// Where a range is.
enum Place {
    /// In this process.
    Served(usize, Arc<dyn Engine>),
    /// Nowhere; the next owner needs these logs.
    Unserved(Vec<LogNumber>),
}

#[derive(Default)]
struct Run {
    cluster: Cluster,
    processes: [Option<Process>; PROCESSES],
    places: BTreeMap<u64, Place>,
    rows: BTreeMap<u64, BTreeMap<u8, u64>>,
    written: u64,
}

impl Run {
    async fn play(&mut self, steps: &[Step]) {
        for range in 1..=RANGES {
            self.places.insert(range, Place::Unserved(Vec::new()));
        }
        for step in steps {
            self.step(step).await;
        }
        for range in 1..=RANGES {
            self.move_to(range, 0).await;
        }
    }

    async fn step(&mut self, step: &Step) {
        match *step {
            Step::Write {
                range,
                key,
                deletes,
            } => {
                let engine = self.engine(range).await;
                self.write(&*engine, range, key, deletes).await;
            }
            Step::Flush { range } => self.engine(range).await.flush().await.unwrap(),
            Step::Move { range, to } => self.move_to(range, to).await,
            Step::Kill { process } => self.kill(process),
            Step::Collect => self.collect().await,
            Step::SingleServer => self.run_single_server().await,
        }
    }

    async fn write(&mut self, engine: &dyn Engine, range: u64, key: u8, deletes: bool) {
        self.written += 1;
        let rows = self.rows.entry(range).or_default();
        let mut batch = Batch::new();
        if deletes {
            rows.remove(&key);
            batch.delete(vec![key].into());
        } else {
            rows.insert(key, self.written);
            batch.put(vec![key].into(), self.written.to_string().into());
        }
        commit(engine, batch).await.unwrap();
    }

    async fn check(&self, range: u64, engine: &dyn Engine) {
        let found = rows(engine, KeyRange::all(), 100).await;
        let expected = self.rows.get(&range).into_iter().flatten();
        let expected: Vec<(Bytes, Bytes)> = expected
            .map(|(key, value)| (vec![*key].into(), value.to_string().into()))
            .collect();
        assert_eq!(found, expected, "rows of range {range}");
    }

    /// The engine of a range, which some process serves.
    async fn engine(&mut self, range: u64) -> Arc<dyn Engine> {
        if let Some(Place::Unserved(_)) = self.places.get(&range) {
            self.move_to(range, 1).await;
        }
        match self.places.get(&range) {
            Some(Place::Served(_, engine)) => Arc::clone(engine),
            _ => panic!("the range is served"),
        }
    }

    async fn move_to(&mut self, range: u64, to: usize) {
        let logs = match self.places.remove(&range) {
            Some(Place::Served(owner, _)) => {
                let owner = self.processes[owner].as_ref().unwrap();
                owner.hand_over(RangeId(range)).await.unwrap();
                Vec::new()
            }
            Some(Place::Unserved(logs)) => logs,
            None => Vec::new(),
        };
        self.start(to).await;
        let process = self.processes[to].as_ref().unwrap();
        let engine = process.take(RangeId(range), &logs).await;
        self.check(range, &*engine).await;
        self.places.insert(range, Place::Served(to, engine));
    }

    async fn start(&mut self, process: usize) {
        if self.processes[process].is_none() {
            self.processes[process] = Some(self.cluster.start().await);
        }
    }

    fn kill(&mut self, process: usize) {
        let Some(killed) = self.processes[process].take() else {
            return;
        };
        for place in self.places.values_mut() {
            if matches!(place, Place::Served(owner, _) if *owner == process) {
                *place = Place::Unserved(vec![killed.log]);
            }
        }
    }

    async fn collect(&mut self) {
        self.start(2).await;
        let process = self.processes[2].as_ref().unwrap();
        let mut logs = process.uncollected_logs().await.unwrap();
        let alive: Vec<_> = self.processes.iter().flatten().map(|it| it.log).collect();
        let needed = self.places.values().filter_map(|place| match place {
            Place::Served(..) => None,
            Place::Unserved(logs) => Some(logs),
        });
        let needed: Vec<_> = needed.flatten().copied().collect();
        logs.retain(|log| !alive.contains(log) && !needed.contains(log));
        process.collect_logs(&logs).await.unwrap();
        for log in process.uncollected_logs().await.unwrap() {
            assert!(alive.contains(&log) || needed.contains(&log));
        }
    }

    async fn run_single_server(&mut self) {
        for process in 0..PROCESSES {
            self.kill(process);
        }
        let single = self.cluster.start_single().await;
        for range in 1..=RANGES {
            let engine = single.open(RangeId(range)).await.unwrap();
            self.check(range, &*engine).await;
            self.write(&*engine, range, 0, false).await;
        }
        drop(single);
        // As after the loss of the coordinator: each range needs all logs.
        self.start(0).await;
        let process = self.processes[0].as_ref().unwrap();
        let logs = process.uncollected_logs().await.unwrap();
        let logs: Vec<_> = logs.into_iter().filter(|log| *log != process.log).collect();
        for place in self.places.values_mut() {
            *place = Place::Unserved(logs.clone());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn no_acknowledged_row_is_lost_and_no_old_row_is_shown(steps in steps()) {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_time().build().unwrap();
        runtime.block_on(Run::default().play(&steps));
    }
}
