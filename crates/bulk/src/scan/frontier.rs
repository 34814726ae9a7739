//! The open steps of a scan: which to execute next, which rows to return, and which steps a resumed scan needs. This is
//! a state machine without I/O: the caller executes the steps, and they may end in any order.
//!
//! The state is one list in the table's order. The result of a step replaces it in the list:
//!
//! ```text
//!   [ S ]  ──finish(rows, A, B)──▶  [ rows of S │ A │ B ]  ──take──▶  [ A │ B ]
//! ```
//!
//! Invariants:
//! - the slots that follow a slot with unreturned rows, and have a greater depth, came from the step of that slot. A
//!   resume token that repeats the step omits exactly these slots;
//! - with [`Order::Table`], rows are returned only from the front of the list. A step after the front begins only while
//!   its rows fit into the buffer; the step at the front may always begin, so that the scan progresses. So memory holds
//!   at most the buffer and the rows of one step;
//! - with [`Order::Any`], rows are returned as soon as they are read. While few steps wait, steps begin
//!   breadth-first, which finds work for every job. While many wait, steps begin in the table's order. That is
//!   depth-first, and reduces the waiting steps to two for each character of a key.

use super::execute::StepResult;
use super::step::{Step, StepId};

/// With [`Order::Any`], steps begin breadth-first up to this number of waiting steps per job.
const WAITING_PER_JOB: usize = 8;

/// The order in which rows are returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// In the table's order.
    #[default]
    Table,
    /// In the order in which their pages arrive.
    Any,
}

/// The order of the rows, and limits on running steps and unreturned rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrontierOptions {
    /// The order of the rows.
    pub order: Order,
    /// Maximum number of running steps, at least 1.
    pub jobs: usize,
    /// Maximum number of rows that a step returns: the page size.
    pub step_rows_max: usize,
    /// Maximum number of rows that wait until earlier rows are returned. Ignored with [`Order::Any`].
    pub buffer_rows_max: usize,
}

/// Rows of one step.
#[derive(Debug)]
pub struct Batch<R> {
    /// The id of the step.
    pub step: StepId,
    /// The rows, at least one, in the table's order.
    pub rows: Vec<R>,
}

#[derive(Debug)]
enum SlotState<R> {
    Waiting,
    Running,
    Read(Vec<R>),
}

#[derive(Debug)]
struct Slot<R> {
    id: StepId,
    step: Step,
    state: SlotState<R>,
    /// The number of ancestors whose rows are still in the list.
    depth: usize,
    /// The sequence number of the slot. Breadth-first order starts the waiting slot with the lowest number. Later
    /// results have higher numbers. Within a result, the last step has the lowest number, because it covers the most
    /// rows.
    age: u64,
}

/// The steps of a scan whose rows are not returned yet: waiting, running, or read.
#[derive(Debug)]
pub struct Frontier<R> {
    options: FrontierOptions,
    slots: Vec<Slot<R>>,
    running: usize,
    buffered_rows: usize,
    born: u64,
}

impl<R> Frontier<R> {
    /// A scan with these first steps, which must be in the table's order and must not overlap.
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

    /// The next step to execute now; `None` if enough steps run, or if the buffer of unreturned rows is full. The
    /// caller must call [`Self::finish`] with the result.
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

    /// Replaces a running step with its result.
    ///
    /// # Panics
    /// If the step is not running.
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

    /// The next rows to return, if there are any. Their step is then done, and [`Self::open_steps`] no longer returns
    /// it.
    pub fn take(&mut self) -> Option<Batch<R>> {
        let is_read = |slot: &Slot<R>| matches!(slot.state, SlotState::Read(_));
        let at = match self.options.order {
            Order::Table => self.slots.first().is_some_and(is_read).then_some(0),
            Order::Any => self.slots.iter().position(is_read),
        }?;
        let slot = self.slots.remove(at);
        // The slots that came from this step lose one ancestor. With their old depth, they would count as slots of the
        // step before.
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
            SlotState::Waiting | SlotState::Running => None,
        }
    }

    /// The steps that cover exactly the rows not yet returned, in the table's order.
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

    /// The number of running steps.
    #[cfg(test)]
    pub(super) fn running(&self) -> usize {
        self.running
    }

    /// Rows read but not yet returned.
    #[cfg(test)]
    pub(super) fn buffered_rows(&self) -> usize {
        self.buffered_rows
    }

    /// Whether all rows are returned.
    pub fn is_done(&self) -> bool {
        self.slots.is_empty()
    }

    fn next_in_order(&self) -> Option<usize> {
        let is_waiting = |slot: &Slot<R>| matches!(slot.state, SlotState::Waiting);
        let at = self.slots.iter().position(is_waiting)?;
        let ahead = (self.running + 1).saturating_mul(self.options.step_rows_max);
        let fits = self.buffered_rows.saturating_add(ahead) <= self.options.buffer_rows_max;
        (fits || at == 0).then_some(at)
    }

    fn next_in_any_order(&self) -> Option<usize> {
        let slots = self.slots.iter().enumerate();
        let mut open = slots.filter(|(_, slot)| matches!(slot.state, SlotState::Waiting));
        let few = self.options.jobs.max(1).saturating_mul(WAITING_PER_JOB);
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
                state: SlotState::Waiting,
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
    fn a_token_repeats_the_steps_of_unreturned_rows() {
        let mut frontier = frontier(Order::Table, 3, &["a", "b"]);
        assert_eq!(start(&mut frontier, 3), steps(&["a", "b"]));
        frontier.finish(step("b").id(), result(1, &["b1", "b2"]));
        assert_eq!(start(&mut frontier, 1), []);
        frontier.finish(step("a").id(), result(0, &["a1"]));
        assert_eq!(start(&mut frontier, 1), steps(&["a1"]));
        frontier.finish(step("a1").id(), result(2, &["a2"]));
        // Steps that came from "a1" and "b" wait, but the rows of "a1" and "b" are not returned yet, so a token
        // contains "a1" and "b" themselves.
        assert_eq!(open(&frontier), steps(&["a1", "b"]));
        assert_eq!(frontier.take().unwrap().step, step("a1").id());
        assert!(
            frontier.take().is_none(),
            "the rows of b follow those of a2"
        );
        assert_eq!(open(&frontier), steps(&["a2", "b"]));
    }

    #[test]
    fn open_steps_include_steps_after_returned_rows() {
        let mut frontier = frontier(Order::Any, 2, &["a", "b"]);
        assert_eq!(start(&mut frontier, 3).len(), 2);
        frontier.finish(step("b").id(), result(1, &["b1"]));
        assert_eq!(frontier.take().unwrap().step, step("b").id());
        frontier.finish(step("a").id(), result(1, &["a1"]));
        assert_eq!(open(&frontier), steps(&["a", "b1"]));
    }

    #[test]
    fn reading_ahead_stops_at_the_buffer_limit() {
        let mut frontier = frontier(Order::Table, 9, &["a", "b", "c", "d"]);
        assert_eq!(start(&mut frontier, 9), steps(&["a", "b"]));
        frontier.finish(step("b").id(), result(5, &[]));
        assert_eq!(
            start(&mut frontier, 9),
            [],
            "5 rows and two steps of 10 rows exceed the buffer"
        );
        frontier.finish(step("a").id(), result(0, &["a1", "a2"]));
        assert_eq!(start(&mut frontier, 9), steps(&["a1"]));
        frontier.finish(step("a1").id(), result(10, &[]));
        assert_eq!(frontier.buffered_rows(), 15);
        assert_eq!(
            start(&mut frontier, 9),
            [],
            "the rows of a1 must be returned first"
        );
        assert_eq!(frontier.take().unwrap().rows.len(), 10);
        assert_eq!(start(&mut frontier, 9), steps(&["a2"]));
    }

    #[test]
    fn a_scan_is_breadth_first_up_to_a_limit_then_depth_first() {
        let mut frontier = frontier(Order::Any, 1, &["a"]);
        let first = start(&mut frontier, 1);
        let left = ["a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9"];
        frontier.finish(first[0].id(), result(0, &left));
        // Nine steps wait, one more than the limit: the first one starts, and then its steps, until eight wait.
        assert_eq!(start(&mut frontier, 1), steps(&["a1"]));
        frontier.finish(step("a1").id(), result(0, &["a11"]));
        assert_eq!(start(&mut frontier, 1), steps(&["a11"]));
        frontier.finish(step("a11").id(), result(0, &[]));
        // The last step of a result covers the most rows, so breadth-first order starts it first.
        assert_eq!(start(&mut frontier, 1), steps(&["a9"]));
    }
}
