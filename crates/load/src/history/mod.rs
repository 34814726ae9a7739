//! What clients asked of an entity and what they were answered, with times.

mod checker;
mod scan;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub use checker::check;
pub use scan::{Keys, ScanCheck, stable_partition};

/// What an entity contains. Each write of a test has another.
pub type Value = u64;

/// What a client asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Create the entity, unless it exists.
    Insert(Value),
    /// Create or replace it.
    Upsert(Value),
    /// Replace it if it contains `expected`, as an ETag says.
    Swap {
        /// What the ETag stands for.
        expected: Value,
        /// The new content.
        to: Value,
    },
    /// Delete it.
    Delete,
    /// Read it by its key.
    Read,
    /// Read it as a part of a scan or a query.
    Scan,
}

impl Action {
    fn is_read(self) -> bool {
        matches!(self, Self::Read | Self::Scan)
    }
}

/// What a client was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Done as asked.
    Done,
    /// 409: it exists.
    Exists,
    /// 404: it does not exist.
    Missing,
    /// 412: it contains something else.
    Differs,
    /// What was read.
    Found(Value),
    /// No answer, or one that says that the outcome is unknown: it may happen at any later time, or never.
    Unknown,
    /// Refused: it does not happen.
    Refused,
}

impl Outcome {
    /// What the answer to a batch says, by the status of the part that was refused, if one was. `None` for a status that
    /// no batch of these tests gets.
    #[must_use]
    pub const fn of_batch(refused: Option<u16>) -> Option<Self> {
        Some(match refused {
            None => Self::Done,
            Some(404) => Self::Missing,
            Some(409) => Self::Exists,
            Some(503) => Self::Refused,
            Some(500) => Self::Unknown,
            Some(_) => return None,
        })
    }
}

/// A request of a client.
#[derive(Debug, Clone, Copy)]
pub struct Operation {
    /// What was asked.
    pub action: Action,
    /// What was answered.
    pub outcome: Outcome,
    /// When it was sent, since the begin of the history.
    pub start: Duration,
    /// When the answer came.
    pub end: Duration,
}

/// A history with so many operations takes no more writes, so that reads have room.
const WRITES_MAX: usize = 80;
/// It takes no more reads of clients, so that the last reads have room: the checker needs one word for 128 operations.
const READS_MAX: usize = 112;

/// An entity, or several that batches change together, with its history.
#[derive(Debug)]
pub struct Register {
    /// Its PartitionKey, which no other register has.
    pub name: String,
    began: Instant,
    operations: Mutex<Vec<Operation>>,
    /// A value that a client saw last, with its ETag.
    seen: Mutex<Option<(Value, String)>>,
}

/// An operation under way.
#[derive(Debug)]
pub struct Ticket(usize);

impl Register {
    /// What a register says that is a group of `rows` entities, which only batches change: all of them have the same
    /// value, or none exists.
    ///
    /// # Errors
    /// A batch was executed in part.
    pub fn outcome_of_group(&self, rows: usize, values: &[Value]) -> Result<Outcome, String> {
        let is_whole = values.is_empty() || values.len() == rows;
        let is_equal = values.windows(2).all(|pair| pair[0] == pair[1]);
        if !is_whole || !is_equal {
            let name = &self.name;
            return Err(format!("a batch was executed in part: {name}: {values:?}"));
        }
        let first = values.first();
        Ok(first.map_or(Outcome::Missing, |value| Outcome::Found(*value)))
    }

    /// An entity that is missing at `began`.
    #[must_use]
    pub fn new(name: String, began: Instant) -> Self {
        Self {
            name,
            began,
            operations: Mutex::default(),
            seen: Mutex::default(),
        }
    }

    /// Records that an operation is about to be sent. `None`: the history is full.
    pub fn begin(&self, action: Action) -> Option<Ticket> {
        let mut operations = lock(&self.operations);
        let most = match action {
            Action::Read => READS_MAX,
            _ => WRITES_MAX,
        };
        if operations.len() >= most {
            return None;
        }
        operations.push(Operation {
            action,
            outcome: Outcome::Unknown,
            start: self.began.elapsed(),
            end: Duration::MAX,
        });
        Some(Ticket(operations.len() - 1))
    }

    /// Records what a scan that was sent at `start` says of it. A full history leaves it out.
    pub fn add_scan(&self, start: Instant, outcome: Outcome) {
        self.push_read(Action::Scan, start, outcome, READS_MAX);
    }

    /// Records the last read of a test, for which a full history has room.
    pub fn add_last_read(&self, start: Instant, outcome: Outcome) {
        self.push_read(Action::Read, start, outcome, u128::BITS as usize);
    }

    /// Records what a snapshot has that was taken between two moments. A full history leaves it out.
    pub fn add_snapshot(&self, [start, end]: [Instant; 2], outcome: Outcome) {
        self.push_read_between(Action::Scan, [start, end], outcome, READS_MAX);
    }

    fn push_read(&self, action: Action, start: Instant, outcome: Outcome, most: usize) {
        self.push_read_between(action, [start, Instant::now()], outcome, most);
    }

    fn push_read_between(
        &self,
        action: Action,
        times: [Instant; 2],
        outcome: Outcome,
        most: usize,
    ) {
        let [start, end] = times.map(|time| time.saturating_duration_since(self.began));
        let mut operations = lock(&self.operations);
        if operations.len() < most {
            operations.push(Operation {
                action,
                outcome,
                start,
                end,
            });
        }
    }

    /// Records the answer.
    pub fn end(&self, ticket: &Ticket, outcome: Outcome) {
        if outcome == Outcome::Unknown {
            return;
        }
        if let Some(operation) = lock(&self.operations).get_mut(ticket.0) {
            operation.outcome = outcome;
            operation.end = self.began.elapsed();
        }
    }

    /// Whether it takes no more writes.
    #[must_use]
    pub fn is_full(&self) -> bool {
        lock(&self.operations).len() >= WRITES_MAX
    }

    /// Remembers the ETag of a value.
    pub fn saw(&self, value: Value, etag: &str) {
        *lock(&self.seen) = Some((value, etag.to_owned()));
    }

    /// The value that a client saw last, with its ETag.
    #[must_use]
    pub fn seen(&self) -> Option<(Value, String)> {
        lock(&self.seen).clone()
    }

    /// The operations that may have happened. Reads without an answer say nothing.
    #[must_use]
    pub fn history(&self) -> Vec<Operation> {
        let says_nothing = |operation: &Operation| match operation.outcome {
            Outcome::Refused => true,
            Outcome::Unknown => operation.action.is_read(),
            _ => false,
        };
        let operations = lock(&self.operations);
        let said = operations
            .iter()
            .filter(|operation| !says_nothing(operation));
        said.copied().collect()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
