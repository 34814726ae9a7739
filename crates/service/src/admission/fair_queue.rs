//! Waiting requests in fair order: between accounts first, then between the partitions of an account, then by arrival.
//!
//! Deterministic: no clock, no threads.

use super::virtual_time::{Order, VirtualTimeQueue};
#[cfg(test)]
use std::collections::BTreeMap;
use std::collections::{HashMap, VecDeque};

/// Identifies a waiting request.
pub(super) type Ticket = u64;

/// The account and the partition of a request, as hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Flow {
    pub(super) account: u64,
    pub(super) partition: u64,
}

/// The queue. Its length is at most the number of connections, because each has one request under way.
#[derive(Debug)]
pub(super) struct FairQueue {
    accounts: VirtualTimeQueue,
    waiting: HashMap<u64, Account>,
    tickets: Ticket,
    len: usize,
}

/// Waiting requests of one account.
#[derive(Debug)]
struct Account {
    partitions: VirtualTimeQueue,
    waiting: HashMap<u64, VecDeque<(Ticket, u64)>>,
}

impl Default for FairQueue {
    fn default() -> Self {
        Self {
            accounts: VirtualTimeQueue::new(Order::Start),
            waiting: HashMap::new(),
            tickets: 0,
            len: 0,
        }
    }
}

impl Default for Account {
    /// Orders partitions by finish ([`Order::Finish`]), so that a small request does not wait for large requests of
    /// many other partitions.
    fn default() -> Self {
        Self {
            partitions: VirtualTimeQueue::new(Order::Finish),
            waiting: HashMap::new(),
        }
    }
}

impl FairQueue {
    /// Appends a request to its flow.
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

    /// The next request and its cost.
    pub(super) fn first(&self) -> Option<(Ticket, u64)> {
        let account = self.waiting.get(&self.accounts.first()?)?;
        let requests = account.waiting.get(&account.partitions.first()?)?;
        requests.front().copied()
    }

    /// Removes the next request.
    pub(super) fn pop(&mut self) -> Option<Ticket> {
        let account_hash = self.accounts.first()?;
        let account = self.waiting.get_mut(&account_hash)?;
        let partition = account.partitions.first()?;
        let requests = account.waiting.get_mut(&partition)?;
        let (ticket, cost) = requests.pop_front()?;
        let next = requests.front().map(|(_, cost)| *cost);
        if next.is_none() {
            account.waiting.remove(&partition);
        }
        account.partitions.served(partition, cost, next);
        let account_waits = !account.waiting.is_empty();
        // Accounts are in [`Order::Start`], which ignores the cost of the next request.
        let next = account_waits.then_some(0);
        self.accounts.served(account_hash, cost, next);
        self.removed();
        Some(ticket)
    }

    /// Removes a request whose caller no longer waits for admission.
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
        self.removed();
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Counts a removed request. If the queue is then empty, forgets the order of the flows.
    fn removed(&mut self) {
        self.len -= 1;
        if self.len == 0 {
            self.accounts = VirtualTimeQueue::new(Order::Start);
            self.waiting.clear();
            return;
        }
        // The virtual times of accounts without requests are kept, until there are too many accounts.
        if self.waiting.len() > 2 * self.len + IDLE_ACCOUNTS_MAX {
            self.waiting
                .retain(|_, account| !account.waiting.is_empty());
        }
    }

    /// The number of waiting requests by account, for tests.
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

/// Idle accounts are dropped when there are more accounts than twice the waiting requests plus this number.
const IDLE_ACCOUNTS_MAX: usize = 64;
