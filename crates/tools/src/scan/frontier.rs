//! The open steps of a scan: which to execute next, which rows to return, and which steps a resumed scan needs. A plain state
//! machine: its caller decides where steps are executed and in which order they end.
//!
//! The state is one list in the table's order. Executing a step replaces it in its place:
//!
//! ```text
//!   [ S ]  ──finish(rows, A, B)──▶  [ rows of S │ A │ B ]  ──take──▶  [ A │ B ]
//! ```
//!
//! Invariants:
//! - slots behind rows that are not returned yet, with a greater depth, came from the same step. So a token that repeats the step
//!   leaves out exactly those;
//! - in the table's order, rows are returned only from the front of the list. A step behind the front begins only while its rows
//!   fit into the buffer; the step at the front always may, so that there is progress. So at most the buffer and the rows of one
//!   step are kept;
//! - in any order, rows are returned at once. Steps begin breadth-first, which finds work for every job, only while few are open;
//!   then in the table's order, which is depth-first and brings their number down to two for each character of a key.

use super::execute::StepResult;
use super::step::{Step, StepId};

/// Open steps for each job up to which a scan in any order goes breadth-first.
const OPEN_STEPS_PER_JOB: usize = 8;

/// The order in which rows are returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// In the table's order.
    #[default]
    Table,
    /// In the order in which their pages arrive.
    Any,
}

/// Bounds on steps that run and on rows that wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrontierOptions {
    /// The order of the rows.
    pub order: Order,
    /// Steps that run at the same time, at least 1.
    pub jobs: usize,
    /// The most rows that a step returns: those of a page.
    pub step_rows_max: usize,
    /// Rows that may be read ahead of the table's order. Ignored with [`Order::Any`].
    pub buffer_rows_max: usize,
}

/// Rows of one step.
#[derive(Debug)]
pub struct Batch<R> {
    /// The step.
    pub step: StepId,
    /// Its rows, at least one, in the table's order.
    pub rows: Vec<R>,
}

#[derive(Debug)]
enum SlotState<R> {
    Open,
    Running,
    Read(Vec<R>),
}

#[derive(Debug)]
struct Slot<R> {
    id: StepId,
    step: Step,
    state: SlotState<R>,
    /// Its ancestors whose rows may still be in the list.
    depth: usize,
    /// Higher for later steps, and among those of one result for earlier ones: the last step of a result finds most.
    age: u64,
}

/// The open steps of a scan.
#[derive(Debug)]
pub struct Frontier<R> {
    options: FrontierOptions,
    slots: Vec<Slot<R>>,
    running: usize,
    buffered_rows: usize,
    born: u64,
}

impl<R> Frontier<R> {
    /// A scan of these steps, which are in the table's order and do not overlap.
    pub fn new(steps: Vec<Step>, options: FrontierOptions) -> Self {
        let mut frontier = Self {
            options,
            slots: Vec::new(),
            running: 0,
            buffered_rows: 0,
            born: 0,
        };
        frontier.slots = frontier.slots_of(steps, 0);
        frontier
    }

    /// A step to execute now; none if enough run, or nothing may be read ahead. Its caller must [`Self::finish`] it.
    pub fn start(&mut self) -> Option<Step> {
        if self.running >= self.options.jobs.max(1) {
            return None;
        }
        let at = match self.options.order {
            Order::Table => self.next_in_order()?,
            Order::Any => self.next_in_any_order()?,
        };
        let slot = self.slots.get_mut(at)?;
        slot.state = SlotState::Running;
        self.running += 1;
        Some(slot.step.clone())
    }

    /// Replaces a running step by its result.
    ///
    /// # Panics
    /// If that step does not run.
    pub fn finish(&mut self, id: StepId, result: StepResult<R>) {
        let at = self
            .slots
            .iter()
            .position(|slot| slot.id == id && matches!(slot.state, SlotState::Running));
        let at = at.expect("a result belongs to a running step");
        self.running -= 1;
        let depth = self.slots[at].depth;
        if result.rows.is_empty() {
            let left = self.slots_of(result.steps, depth);
            self.slots.splice(at..=at, left);
        } else {
            self.buffered_rows += result.rows.len();
            self.slots[at].state = SlotState::Read(result.rows);
            let left = self.slots_of(result.steps, depth + 1);
            self.slots.splice(at + 1..at + 1, left);
        }
    }

    /// The next rows to return, if there are any. Their step is done then: no later [`Self::open_steps`] contains it.
    pub fn take(&mut self) -> Option<Batch<R>> {
        let is_read = |slot: &Slot<R>| matches!(slot.state, SlotState::Read(_));
        let at = match self.options.order {
            Order::Table => self.slots.first().is_some_and(is_read).then_some(0),
            Order::Any => self.slots.iter().position(is_read),
        }?;
        let slot = self.slots.remove(at);
        // Steps that came from this one now count as those of its ancestor, if that is still in the list. Otherwise they would
        // count as those of a neighbour.
        let later = self.slots.iter_mut().skip(at);
        for below in later.take_while(|below| below.depth > slot.depth) {
            below.depth -= 1;
        }
        match slot.state {
            SlotState::Read(rows) => {
                self.buffered_rows -= rows.len();
                Some(Batch {
                    step: slot.id,
                    rows,
                })
            }
            SlotState::Open | SlotState::Running => None,
        }
    }

    /// The steps that cover exactly the rows not returned yet, in the table's order.
    pub fn open_steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut covered_from = None;
        for slot in &self.slots {
            if covered_from.is_some_and(|depth| slot.depth > depth) {
                continue;
            }
            covered_from = matches!(slot.state, SlotState::Read(_)).then_some(slot.depth);
            steps.push(slot.step.clone());
        }
        steps
    }

    /// How many steps run.
    #[cfg(test)]
    pub(super) fn running(&self) -> usize {
        self.running
    }

    /// Rows read and not returned.
    #[cfg(test)]
    pub(super) fn buffered_rows(&self) -> usize {
        self.buffered_rows
    }

    /// Whether all rows are returned.
    pub fn is_done(&self) -> bool {
        self.slots.is_empty()
    }

    fn next_in_order(&self) -> Option<usize> {
        let is_open = |slot: &Slot<R>| matches!(slot.state, SlotState::Open);
        let at = self.slots.iter().position(is_open)?;
        let ahead = (self.running + 1).saturating_mul(self.options.step_rows_max);
        let fits = self.buffered_rows.saturating_add(ahead) <= self.options.buffer_rows_max;
        (fits || at == 0).then_some(at)
    }

    fn next_in_any_order(&self) -> Option<usize> {
        let slots = self.slots.iter().enumerate();
        let mut open = slots.filter(|(_, slot)| matches!(slot.state, SlotState::Open));
        let few = self.options.jobs.max(1).saturating_mul(OPEN_STEPS_PER_JOB);
        let next = if open.clone().nth(few).is_some() {
            open.next()
        } else {
            open.min_by_key(|(_, slot)| slot.age)
        };
        next.map(|(at, _)| at)
    }

    fn slots_of(&mut self, steps: Vec<Step>, depth: usize) -> Vec<Slot<R>> {
        let mut slots: Vec<Slot<R>> = Vec::with_capacity(steps.len());
        for step in steps.into_iter().rev() {
            self.born += 1;
            slots.push(Slot {
                id: step.id(),
                step,
                state: SlotState::Open,
                depth,
                age: self.born,
            });
        }
        slots.reverse();
        slots
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Bounds, Part};
    use super::*;

    fn step(prefix: &str) -> Step {
        Step::new(Part::Range {
            bounds: Bounds::of_prefix(prefix),
        })
    }

    fn result(rows: usize, left: &[&str]) -> StepResult<()> {
        StepResult {
            rows: vec![(); rows],
            steps: left.iter().map(|prefix| step(prefix)).collect(),
            failure: None,
        }
    }

    fn frontier(order: Order, jobs: usize, prefixes: &[&str]) -> Frontier<()> {
        let options = FrontierOptions {
            order,
            jobs,
            step_rows_max: 10,
            buffer_rows_max: 20,
        };
        Frontier::new(result(0, prefixes).steps, options)
    }

    fn open(frontier: &Frontier<()>) -> Vec<Step> {
        frontier.open_steps()
    }

    fn steps(prefixes: &[&str]) -> Vec<Step> {
        result(0, prefixes).steps
    }

    fn start(frontier: &mut Frontier<()>, count: usize) -> Vec<Step> {
        (0..count).map_while(|_| frontier.start()).collect()
    }

    #[test]
    fn a_token_repeats_rows_that_are_read_and_not_returned() {
        let mut frontier = frontier(Order::Table, 3, &["a", "b"]);
        assert_eq!(start(&mut frontier, 3), steps(&["a", "b"]));
        frontier.finish(step("b").id(), result(1, &["b1", "b2"]));
        assert_eq!(start(&mut frontier, 1), []);
        frontier.finish(step("a").id(), result(0, &["a1"]));
        assert_eq!(start(&mut frontier, 1), steps(&["a1"]));
        frontier.finish(step("a1").id(), result(2, &["a2"]));
        // Below "a1" and "b" steps are open, but their rows are not returned.
        assert_eq!(open(&frontier), steps(&["a1", "b"]));
        assert_eq!(frontier.take().unwrap().step, step("a1").id());
        assert!(frontier.take().is_none(), "the rows of b come behind a2");
        assert_eq!(open(&frontier), steps(&["a2", "b"]));
    }

    #[test]
    fn steps_of_a_neighbour_are_not_left_out() {
        let mut frontier = frontier(Order::Any, 2, &["a", "b"]);
        assert_eq!(start(&mut frontier, 3).len(), 2);
        frontier.finish(step("b").id(), result(1, &["b1"]));
        assert_eq!(frontier.take().unwrap().step, step("b").id());
        frontier.finish(step("a").id(), result(1, &["a1"]));
        assert_eq!(open(&frontier), steps(&["a", "b1"]));
    }

    #[test]
    fn reading_ahead_ends_where_the_buffer_does() {
        let mut frontier = frontier(Order::Table, 9, &["a", "b", "c", "d"]);
        assert_eq!(start(&mut frontier, 9), steps(&["a", "b"]));
        frontier.finish(step("b").id(), result(5, &[]));
        assert_eq!(
            start(&mut frontier, 9),
            [],
            "5 rows and two steps of 10 are too many"
        );
        frontier.finish(step("a").id(), result(0, &["a1", "a2"]));
        assert_eq!(start(&mut frontier, 9), steps(&["a1"]));
        frontier.finish(step("a1").id(), result(10, &[]));
        assert_eq!(frontier.buffered_rows(), 15);
        assert_eq!(
            start(&mut frontier, 9),
            [],
            "the rows of a1 have to go first"
        );
        assert_eq!(frontier.take().unwrap().rows.len(), 10);
        assert_eq!(start(&mut frontier, 9), steps(&["a2"]));
    }

    #[test]
    fn breadth_first_while_few_are_open_then_depth_first() {
        let mut frontier = frontier(Order::Any, 1, &["a"]);
        let first = start(&mut frontier, 1);
        let left = ["a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9"];
        frontier.finish(first[0].id(), result(0, &left));
        // Nine are open: the first in the table's order, and then the steps from it, until eight are.
        assert_eq!(start(&mut frontier, 1), steps(&["a1"]));
        frontier.finish(step("a1").id(), result(0, &["a11"]));
        assert_eq!(start(&mut frontier, 1), steps(&["a11"]));
        frontier.finish(step("a11").id(), result(0, &[]));
        // The last step of a result covers the most rows.
        assert_eq!(start(&mut frontier, 1), steps(&["a9"]));
    }
}
