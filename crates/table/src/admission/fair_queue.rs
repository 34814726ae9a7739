//! Requests that wait, in fair order: between accounts first, then between the partitions of an account, then by arrival.
//!
//! Without a clock and without threads: what comes in and goes out is the whole story.

use super::turns::{Order, Turns};
#[cfg(test)]
use std::collections::BTreeMap;
use std::collections::{HashMap, VecDeque};

/// Names a request that waits.
pub(super) type Ticket = u64;

/// Who a request is for, as hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Flow {
    pub(crate) account: u64,
    pub(crate) partition: u64,
}

/// The queue. Bounded by who puts in: a request each, of those that connections have under way.
#[derive(Debug)]
pub(super) struct FairQueue {
    accounts: Turns,
    waiting: HashMap<u64, Account>,
    tickets: Ticket,
    len: usize,
}

/// Requests of one account.
#[derive(Debug)]
struct Account {
    partitions: Turns,
    waiting: HashMap<u64, VecDeque<(Ticket, u64)>>,
}

impl Default for FairQueue {
    fn default() -> Self {
        Self {
            accounts: Turns::new(Order::Start),
            waiting: HashMap::new(),
            tickets: 0,
            len: 0,
        }
    }
}

impl Default for Account {
    /// By finish: a small request does not stand behind the large ones of many other partitions.
    fn default() -> Self {
        Self {
            partitions: Turns::new(Order::Finish),
            waiting: HashMap::new(),
        }
    }
}

impl FairQueue {
    /// Puts a request at the end of its flow.
    pub(super) fn push(&mut self, flow: Flow, cost: u64) -> Ticket {
        self.tickets += 1;
        self.len += 1;
        let account = self.waiting.entry(flow.account).or_default();
        let requests = account.waiting.entry(flow.partition).or_default();
        requests.push_back((self.tickets, cost));
        account.partitions.join(flow.partition, cost);
        self.accounts.join(flow.account, cost);
        self.tickets
    }

    /// The request that comes next, and what it takes.
    pub(super) fn first(&self) -> Option<(Ticket, u64)> {
        let account = self.waiting.get(&self.accounts.first()?)?;
        let requests = account.waiting.get(&account.partitions.first()?)?;
        requests.front().copied()
    }

    /// Takes out the request that comes next.
    pub(super) fn pop(&mut self) -> Option<Ticket> {
        let in_turn = self.accounts.first()?;
        let account = self.waiting.get_mut(&in_turn)?;
        let partition = account.partitions.first()?;
        let requests = account.waiting.get_mut(&partition)?;
        let (ticket, cost) = requests.pop_front()?;
        let next = requests.front().map(|(_, cost)| *cost);
        if next.is_none() {
            account.waiting.remove(&partition);
        }
        account.partitions.served(partition, cost, next);
        let account_waits = !account.waiting.is_empty();
        // In order of start it does not matter what the account asks for next.
        let next = account_waits.then_some(0);
        self.accounts.served(in_turn, cost, next);
        self.taken_out();
        Some(ticket)
    }

    /// Takes out a request that waits no more.
    pub(super) fn remove(&mut self, flow: Flow, ticket: Ticket) {
        let Some(account) = self.waiting.get_mut(&flow.account) else {
            return;
        };
        let Some(requests) = account.waiting.get_mut(&flow.partition) else {
            return;
        };
        let before = requests.len();
        requests.retain(|(other, _)| *other != ticket);
        if requests.len() == before {
            return;
        }
        let first = requests.front().map(|(_, cost)| *cost);
        account.partitions.leave(flow.partition);
        match first {
            Some(cost) => account.partitions.join(flow.partition, cost),
            None => drop(account.waiting.remove(&flow.partition)),
        }
        if account.waiting.is_empty() {
            self.accounts.leave(flow.account);
        }
        self.taken_out();
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// One less waits. When nobody does, there is no order to remember.
    fn taken_out(&mut self) {
        self.len -= 1;
        if self.len == 0 {
            self.accounts = Turns::new(Order::Start);
            self.waiting.clear();
            return;
        }
        // Accounts without requests keep their order of partitions for a while; not more of them than wait.
        if self.waiting.len() > 2 * self.len + IDLE_ACCOUNTS_MAX {
            self.waiting
                .retain(|_, account| !account.waiting.is_empty());
        }
    }

    /// How many wait, by account: for tests.
    #[cfg(test)]
    pub(super) fn by_account(&self) -> BTreeMap<u64, usize> {
        let count = |account: &Account| account.waiting.values().map(VecDeque::len).sum();
        let all = self.waiting.iter();
        all.map(|(name, account)| (*name, count(account))).collect()
    }

    #[cfg(test)]
    pub(super) fn known(&self) -> usize {
        let partitions = self.waiting.values();
        let partitions: usize = partitions.map(|account| account.partitions.known()).sum();
        partitions + self.accounts.known()
    }
}

const IDLE_ACCOUNTS_MAX: usize = 64;
