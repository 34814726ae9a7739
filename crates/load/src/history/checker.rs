//! Whether a history is linearizable: whether each operation can have happened at one moment between its start and its
//! end, so that all answers are right. The algorithm is that of Wing and Gong with the memory of Lowe: it is exact.

use std::collections::HashSet;
use std::time::Duration;

use super::{Action, Operation, Outcome, Value};

/// The content of an entity that may be missing.
type State = Option<Value>;

/// The most combinations of a set of operations and a state that are tried. Histories of a test need some thousand.
const TRIES_MAX: usize = 1_000_000;

/// Checks a history of at most 128 operations of an entity that is missing at first.
///
/// # Errors
/// The history, and the operations for which no moment was found in the longest part that is right.
pub fn check(operations: &[Operation]) -> Result<(), String> {
    let required = required(operations);
    let classes = classes(operations);
    let mut tried: HashSet<(u128, State)> = HashSet::new();
    let mut waiting: Vec<(u128, State)> = vec![(0, None)];
    let mut best: (u128, State) = (0, None);
    while let Some((done, state)) = waiting.pop() {
        if done & required == required {
            return Ok(());
        }
        if !tried.insert((done, state)) {
            continue;
        }
        if tried.len() > TRIES_MAX {
            return Err("too many operations without an answer to decide".to_owned());
        }
        if (done & required).count_ones() > (best.0 & required).count_ones() {
            best = (done, state);
        }
        // Those that must happen are tried first.
        let (unknown, known): (Vec<usize>, Vec<usize>) =
            next(operations, done).partition(|index| required & bit(*index) == 0);
        let mut seen_classes = HashSet::new();
        let first_of_class =
            |index: &usize| classes[*index].is_none_or(|class| seen_classes.insert(class));
        let unknown: Vec<usize> = unknown.into_iter().filter(first_of_class).collect();
        for index in unknown.into_iter().chain(known) {
            let Some(after) = apply(state, &operations[index]) else {
                continue;
            };
            // An operation without an answer that changes nothing need not have happened.
            if after != state || required & bit(index) != 0 {
                waiting.push((done | bit(index), after));
            }
        }
    }
    Err(explain(operations, required & !best.0, best.1))
}

const fn bit(index: usize) -> u128 {
    1 << index
}

/// The operations that have happened: those with an answer.
fn required(operations: &[Operation]) -> u128 {
    let indices = operations.iter().enumerate();
    indices
        .filter(|(_, operation)| operation.outcome != Outcome::Unknown)
        .fold(0, |all, (index, _)| all | bit(index))
}

/// Operations without an answer whose value no answer mentions do the same, if they are of the same kind. If one of them
/// happened, it can be the one that began first. Without this rule, an outage of a few seconds gives too many
/// combinations.
fn classes(operations: &[Operation]) -> Vec<Option<(u8, Value)>> {
    let mut mentioned = HashSet::new();
    for operation in operations {
        match (operation.action, operation.outcome) {
            (_, Outcome::Found(value))
            | (
                Action::Swap {
                    expected: value, ..
                },
                _,
            ) => {
                mentioned.insert(value);
            }
            _ => {}
        }
    }
    let class = |operation: &Operation| {
        let class = match operation.action {
            Action::Insert(value) => (0, 0, value),
            Action::Upsert(value) => (1, 0, value),
            Action::Swap { expected, to } => (2, expected, to),
            Action::Delete => return Some((3, 0)),
            Action::Read | Action::Scan => return None,
        };
        (!mentioned.contains(&class.2)).then_some((class.0, class.1))
    };
    operations
        .iter()
        .map(|operation| class(operation).filter(|_| operation.outcome == Outcome::Unknown))
        .collect()
}

/// The operations that can have happened next: none of the others ended before they began. Writes are recorded when they
/// begin, so the first of a class is the one that began first.
fn next(operations: &[Operation], done: u128) -> impl Iterator<Item = usize> {
    let left = move |index: &usize| done & bit(*index) == 0;
    let all = 0..operations.len();
    let first_end = all
        .clone()
        .filter(left)
        .map(|index| operations[index].end)
        .min()
        .unwrap_or(Duration::MAX);
    all.filter(move |index| left(index) && operations[*index].start <= first_end)
}

/// The state after an operation; `None` if its outcome is impossible in this state.
fn apply(state: State, operation: &Operation) -> Option<State> {
    let happened = |after: State| match operation.outcome {
        Outcome::Done | Outcome::Unknown => Some(after),
        _ => None,
    };
    let reads = operation.action.is_read();
    let needs_one = reads || matches!(operation.action, Action::Delete | Action::Swap { .. });
    match (operation.action, operation.outcome, state) {
        (Action::Insert(_), Outcome::Exists, Some(_)) => Some(state),
        (_, Outcome::Missing, None) if needs_one => Some(state),
        (Action::Swap { expected, .. }, Outcome::Differs, Some(value)) if value != expected => {
            Some(state)
        }
        (_, Outcome::Found(found), Some(value)) if reads && found == value => Some(state),
        (Action::Insert(value), _, None) | (Action::Upsert(value), _, _) => happened(Some(value)),
        (Action::Swap { expected, to }, _, Some(value)) if value == expected => happened(Some(to)),
        (Action::Delete, _, Some(_)) => happened(None),
        // Without an answer, it may have been refused.
        (_, Outcome::Unknown, _) => Some(state),
        _ => None,
    }
}

fn explain(operations: &[Operation], left: u128, state: State) -> String {
    let mut ordered: Vec<(usize, &Operation)> = operations.iter().enumerate().collect();
    ordered.sort_by_key(|(_, operation)| operation.start);
    let lines = ordered.into_iter().map(|(index, operation)| {
        let mark = if left & bit(index) == 0 { ' ' } else { '!' };
        let end = match operation.end {
            Duration::MAX => "no answer".to_owned(),
            end => format!("{:9.4} s", end.as_secs_f64()),
        };
        format!(
            "{mark} {:9.4} s to {end}: {:?}: {:?}",
            operation.start.as_secs_f64(),
            operation.action,
            operation.outcome
        )
    });
    let lines: Vec<String> = lines.collect();
    format!(
        "not linearizable; the longest right part ends with {state:?}, without the operations marked !:\n{}",
        lines.join("\n")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    fn operation(action: Action, outcome: Outcome, start: u64, end: u64) -> Operation {
        Operation {
            action,
            outcome,
            start: Duration::from_millis(start),
            end: match outcome {
                Outcome::Unknown => Duration::MAX,
                _ => Duration::from_millis(end),
            },
        }
    }

    fn swap(expected: Value, to: Value) -> Action {
        Action::Swap { expected, to }
    }

    #[test]
    fn a_read_must_see_the_last_write() {
        let write =
            |value, start| operation(Action::Upsert(value), Outcome::Done, start, start + 1);
        let read = |value, start, end| operation(Action::Read, Outcome::Found(value), start, end);
        check(&[write(1, 0), write(2, 10), read(2, 20, 21)]).unwrap();
        // The read began before the second write ended.
        check(&[write(1, 0), write(2, 10), read(1, 11, 21)]).unwrap();
        let old = check(&[write(1, 0), write(2, 10), read(1, 20, 21)]).unwrap_err();
        assert!(old.contains("! ") && old.contains("Found(1)"), "{old}");
        // Two reads that overlap the write must not go back in time.
        check(&[
            write(1, 0),
            operation(Action::Upsert(2), Outcome::Done, 10, 30),
            read(1, 11, 12),
            read(2, 13, 14),
        ])
        .unwrap();
        check(&[
            write(1, 0),
            operation(Action::Upsert(2), Outcome::Done, 10, 30),
            read(2, 11, 12),
            read(1, 13, 14),
        ])
        .unwrap_err();
    }

    #[test]
    fn a_write_without_an_answer_may_happen_late_once_or_never() {
        let unknown = |value, start| operation(Action::Upsert(value), Outcome::Unknown, start, 0);
        let read = |outcome, start| operation(Action::Read, outcome, start, start + 1);
        let (found, missing) = (Outcome::Found(1), Outcome::Missing);
        check(&[unknown(1, 0), read(missing, 10)]).unwrap();
        check(&[
            unknown(1, 0),
            read(missing, 10),
            read(found, 20),
            read(found, 30),
        ])
        .unwrap();
        check(&[unknown(1, 0), read(found, 10), read(missing, 20)]).unwrap_err();
        check(&[read(found, 0), unknown(1, 10)]).unwrap_err();
        let delete = operation(Action::Delete, Outcome::Done, 12, 13);
        check(&[unknown(1, 0), read(found, 10), delete, read(found, 20)]).unwrap_err();
    }

    #[test]
    fn refusals_are_answers() {
        let insert =
            |value, outcome, start| operation(Action::Insert(value), outcome, start, start + 1);
        check(&[insert(1, Outcome::Done, 0), insert(2, Outcome::Exists, 10)]).unwrap();
        check(&[insert(1, Outcome::Exists, 0)]).unwrap_err();
        check(&[insert(1, Outcome::Done, 0), insert(2, Outcome::Done, 10)]).unwrap_err();
        // An insert without an answer explains the conflict.
        check(&[
            insert(1, Outcome::Unknown, 0),
            insert(2, Outcome::Exists, 10),
        ])
        .unwrap();
        let update = |action, outcome, start| operation(action, outcome, start, start + 1);
        let first = insert(1, Outcome::Done, 0);
        check(&[
            first,
            update(swap(1, 2), Outcome::Done, 10),
            update(swap(1, 3), Outcome::Differs, 20),
        ])
        .unwrap();
        // Both updates of one ETag were done.
        check(&[
            first,
            update(swap(1, 2), Outcome::Done, 10),
            update(swap(1, 3), Outcome::Done, 12),
        ])
        .unwrap_err();
        check(&[first, update(swap(1, 2), Outcome::Differs, 10)]).unwrap_err();
        check(&[first, update(swap(1, 2), Outcome::Missing, 10)]).unwrap_err();
        check(&[
            first,
            update(Action::Delete, Outcome::Done, 10),
            update(Action::Delete, Outcome::Missing, 20),
        ])
        .unwrap();
        check(&[first, update(Action::Delete, Outcome::Missing, 10)]).unwrap_err();
    }

    /// Whether an order of all operations is right, by trying each.
    fn by_hand(operations: &[Operation], done: u128, state: State) -> bool {
        let required = required(operations);
        done & required == required
            || next(operations, done).any(|index| {
                let after = apply(state, &operations[index]);
                after.is_some_and(|after| by_hand(operations, done | bit(index), after))
            })
    }

    /// Runs random operations at a random moment between start and end. Sometimes spoils an answer.
    fn random_history(random: &mut Random, spoils: bool) -> Vec<Operation> {
        let mut planned: Vec<(u64, Operation)> = (0..7)
            .map(|value| {
                let action = match random.below(5) {
                    0 => Action::Insert(value),
                    1 => Action::Upsert(value),
                    2 => swap(random.below(7), value),
                    3 => Action::Delete,
                    _ => Action::Read,
                };
                let start = random.below(40);
                let moment = start + random.below(20);
                (
                    moment,
                    operation(action, Outcome::Done, start, moment + random.below(20)),
                )
            })
            .collect();
        planned.sort_by_key(|(moment, _)| *moment);
        let mut state = None;
        for (_, operation) in &mut planned {
            operation.outcome = match (operation.action, state) {
                (Action::Insert(_), Some(_)) => Outcome::Exists,
                (Action::Read, Some(value)) => Outcome::Found(value),
                (Action::Read | Action::Delete | Action::Swap { .. }, None) => Outcome::Missing,
                (Action::Swap { expected, .. }, Some(value)) if expected != value => {
                    Outcome::Differs
                }
                _ => Outcome::Done,
            };
            state = apply(state, operation).unwrap();
            if operation.action != Action::Read && random.chance(20) {
                (operation.outcome, operation.end) = (Outcome::Unknown, Duration::MAX);
            }
            if spoils && operation.action == Action::Read && random.chance(50) {
                operation.outcome = Outcome::Found(random.below(7));
            }
        }
        planned
            .into_iter()
            .map(|(_, operation)| operation)
            .collect()
    }

    #[test]
    fn decides_as_a_search_of_all_orders() {
        let mut random = Random::new(1);
        let mut wrong = 0;
        for spoils in [false, true] {
            for _ in 0..400 {
                let history = random_history(&mut random, spoils);
                let right = by_hand(&history, 0, None);
                assert!(right || spoils, "{history:?}");
                assert_eq!(check(&history).is_ok(), right, "{history:?}");
                wrong += usize::from(!right);
            }
        }
        assert!(wrong > 50, "{wrong}");
    }

    /// As many operations and unknown outcomes as a long outage causes.
    #[test]
    fn a_long_history_with_an_outage_is_decided() {
        let mut history = Vec::new();
        for number in 0..100 {
            let start = number * 10;
            let outcome = match number {
                40..56 => Outcome::Unknown,
                _ => Outcome::Done,
            };
            history.push(operation(
                Action::Upsert(number),
                outcome,
                start,
                start + 15,
            ));
        }
        history.push(operation(Action::Read, Outcome::Found(99), 1_100, 1_101));
        check(&history).unwrap();
        history.push(operation(Action::Read, Outcome::Found(7), 1_200, 1_201));
        check(&history).unwrap_err();
    }
}
