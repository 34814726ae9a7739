//! Runs one case: explores the reachable states to the end and compares what it finds with what the case expects.

use std::{
    collections::{BTreeSet, HashMap},
    fmt::Debug,
    hash::Hash,
    time::{Duration, Instant},
};

use stateright::{Checker, HasDiscoveries, Model};

use crate::rule::Rules;

/// What the exploration of a case must show.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expected {
    /// Every property holds in every reachable state.
    Holds,
    /// The named property fails in a reachable state.
    Fails(&'static str),
    /// From every relevant state, a state in which the cluster serves can be reached.
    Recovers,
    /// From some relevant state, no state in which the cluster serves can be reached.
    Stuck,
}

/// What an exploration showed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// Distinct states visited.
    pub states: usize,
    /// The longest of the shortest paths from the initial state to a visited state.
    pub depth: usize,
    /// The wall time of the exploration.
    pub time: Duration,
    /// Whether every reachable state was visited, or the counterexample that was looked for was found.
    pub complete: bool,
    /// The properties that fail, or `stuck`, each with the steps that lead there.
    pub failures: Vec<(&'static str, Vec<String>)>,
}

impl Outcome {
    /// Whether the outcome is what was expected.
    #[must_use]
    pub fn meets(&self, expected: Expected) -> bool {
        self.complete
            && match expected {
                Expected::Holds | Expected::Recovers => self.failures.is_empty(),
                Expected::Fails(property) => {
                    self.failures.iter().any(|(name, _)| *name == property)
                }
                Expected::Stuck => !self.failures.is_empty(),
            }
    }
}

/// Longest time for one case. The largest takes a few seconds.
const TIME_MAX: Duration = Duration::from_secs(240);

/// Explores a model with the rules of a case: breadth first, on two threads.
pub(crate) fn exploring<M>(
    model: impl Fn(Rules) -> M + Copy,
) -> impl Fn(Rules, Expected) -> Outcome + Copy
where
    M: Model + Send + Sync + 'static,
    M::State: Hash + Clone + Debug + PartialEq + Send + Sync + 'static,
    M::Action: Clone + Debug + PartialEq + Send + Sync + 'static,
{
    move |rules, expected| explore(model(rules), expected)
}

/// Stops early only when the property that is expected to fail has failed.
fn explore<M>(model: M, expected: Expected) -> Outcome
where
    M: Model + Send + Sync + 'static,
    M::State: Hash + Clone + Debug + PartialEq + Send + Sync + 'static,
    M::Action: Clone + Debug + PartialEq + Send + Sync + 'static,
{
    let start = Instant::now();
    let finish = match expected {
        Expected::Fails(property) => HasDiscoveries::AnyOf(BTreeSet::from([property])),
        _ => HasDiscoveries::AnyFailures,
    };
    let checker = model
        .checker()
        .threads(2)
        .finish_when(finish)
        .timeout(TIME_MAX)
        .spawn_bfs()
        .join();
    let failures = checker
        .discoveries()
        .into_iter()
        .map(|(name, path)| {
            (
                name,
                path.into_actions()
                    .iter()
                    .map(|step| format!("{step:?}"))
                    .collect(),
            )
        })
        .collect();
    let time = start.elapsed();
    Outcome {
        states: checker.unique_state_count(),
        depth: checker.max_depth(),
        time,
        complete: checker.is_done() && time < TIME_MAX,
        failures,
    }
}

/// The reachable states of a model, with the steps between them.
struct Graph<S> {
    states: Vec<S>,
    before: Vec<Vec<u32>>,
    /// The state and the step by which each state was first reached.
    first: Vec<Option<(u32, String)>>,
    depth: usize,
}

impl<S: Hash + Eq + Clone> Graph<S> {
    fn of<M>(model: &M) -> Self
    where
        M: Model<State = S>,
        M::Action: Debug,
    {
        let mut graph = Self {
            states: vec![],
            before: vec![],
            first: vec![],
            depth: 0,
        };
        let mut known: HashMap<S, u32> = HashMap::new();
        let mut depths = vec![];
        for state in model.init_states() {
            known.insert(state.clone(), graph.add(state, None));
            depths.push(0);
        }
        let mut from = 0;
        while from < graph.states.len() {
            let state = graph.states[from].clone();
            let mut actions = vec![];
            model.actions(&state, &mut actions);
            for action in actions {
                let step = format!("{action:?}");
                let Some(next) = model.next_state(&state, action) else {
                    continue;
                };
                let to = *known.entry(next).or_insert_with_key(|next| {
                    depths.push(depths[from] + 1);
                    graph.add(next.clone(), Some((from as u32, step)))
                });
                graph.before[to as usize].push(from as u32);
            }
            from += 1;
        }
        graph.depth = depths.last().copied().unwrap_or(0) + 1;
        graph
    }

    fn add(&mut self, state: S, first: Option<(u32, String)>) -> u32 {
        self.states.push(state);
        self.before.push(vec![]);
        self.first.push(first);
        (self.states.len() - 1) as u32
    }

    fn path(&self, to: usize) -> Vec<String> {
        let mut steps = vec![];
        let mut at = to;
        while let Some((from, step)) = &self.first[at] {
            steps.push(step.clone());
            at = *from as usize;
        }
        steps.reverse();
        steps
    }
}

/// Looks for relevant states from which no good state can be reached: the temporal property `AG (relevant → EF good)`.
/// It says that the cluster *can* serve again, not that it will: fairness is not modelled.
pub(crate) fn recovers<M>(
    model: &M,
    relevant: impl Fn(&M::State) -> bool,
    good: impl Fn(&M::State) -> bool,
) -> Outcome
where
    M: Model,
    M::State: Hash + Eq + Clone,
    M::Action: Debug,
{
    let start = Instant::now();
    let graph = Graph::of(model);
    let mut reaches: Vec<bool> = graph.states.iter().map(good).collect();
    let mut open: Vec<u32> = (0..graph.states.len() as u32)
        .filter(|at| reaches[*at as usize])
        .collect();
    while let Some(at) = open.pop() {
        for before in &graph.before[at as usize] {
            if !std::mem::replace(&mut reaches[*before as usize], true) {
                open.push(*before);
            }
        }
    }
    let stuck = (0..graph.states.len()).find(|at| !reaches[*at] && relevant(&graph.states[*at]));
    Outcome {
        states: graph.states.len(),
        depth: graph.depth,
        time: start.elapsed(),
        complete: true,
        failures: stuck
            .map(|at| ("stuck", graph.path(at)))
            .into_iter()
            .collect(),
    }
}
