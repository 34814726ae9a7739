//! Tests the order of admission in virtual time, and the admission queue that uses it.

use super::fair_queue::{FairQueue, Flow};
use super::*;
use partita_model::{TableId, TableSpace};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};

const fn flow(account: u64, partition: u64) -> Flow {
    Flow { account, partition }
}

/// A server that does one unit of work in one unit of time. Clients send the next request when one is answered.
struct Simulation {
    queue: FairQueue,
    /// Flow, time and cost of the waiting requests, by ticket.
    asked: BTreeMap<u64, (Flow, u64, u64)>,
    now: u64,
}

impl Simulation {
    fn new() -> Self {
        Self {
            queue: FairQueue::default(),
            asked: BTreeMap::new(),
            now: 0,
        }
    }

    fn ask(&mut self, flow: Flow, cost: u64) {
        let ticket = self.queue.push(flow, cost);
        self.asked.insert(ticket, (flow, self.now, cost));
    }

    /// Serves one request: its flow, how long it waited, and its cost.
    fn serve(&mut self) -> (Flow, u64, u64) {
        let ticket = self.queue.pop().unwrap();
        let (flow, since, cost) = self.asked.remove(&ticket).unwrap();
        let waited = self.now - since;
        self.now += cost;
        (flow, waited, cost)
    }
}

/// The longest wait of ten modest tenants, each with one request of cost 2 at a time, while an abuser has 500 waiting
/// requests of cost 100 on one partition.
fn longest_wait(abuser: Option<Flow>) -> u64 {
    let mut simulation = Simulation::new();
    for _ in 0..500 {
        if let Some(abuser) = abuser {
            simulation.ask(abuser, 100);
        }
    }
    for tenant in 1..=10 {
        simulation.ask(flow(tenant, tenant), 2);
    }
    let mut longest = 0;
    for _ in 0..5_000 {
        let (whose, waited, cost) = simulation.serve();
        if Some(whose) != abuser {
            longest = longest.max(waited);
        }
        simulation.ask(whose, cost);
    }
    longest
}

#[test]
fn an_abusive_account_delays_a_modest_one_by_few_requests() {
    let alone = longest_wait(None);
    assert!(alone <= 10 * 2, "{alone}");
    let beside = longest_wait(Some(flow(99, 0)));
    // In order of arrival, a tenant's request would wait for 500 requests of cost 100.
    assert!(beside <= alone + 2 * 100, "{beside}");
}

#[test]
fn a_hot_partition_delays_others_of_its_account_by_a_request() {
    let mut simulation = Simulation::new();
    for _ in 0..500 {
        simulation.ask(flow(1, 0), 100);
    }
    let mut longest = 0;
    for partition in 1..=10 {
        simulation.ask(flow(1, partition), 2);
    }
    for _ in 0..3_000 {
        let (whose, waited, cost) = simulation.serve();
        if whose.partition != 0 {
            longest = longest.max(waited);
        }
        simulation.ask(whose, cost);
    }
    assert!(longest <= 10 * 2 + 2 * 100, "{longest}");
}

#[test]
fn a_small_request_does_not_wait_for_large_ones_of_many_partitions() {
    let mut simulation = Simulation::new();
    // Each large request has its own partition: in order of arrival the small one would wait for all of them.
    for partition in 0..500 {
        simulation.ask(flow(1, partition), 100);
    }
    let (mut longest, mut times) = (0, 0);
    for step in 0..3_000 {
        if step % 20 == 0 {
            simulation.ask(flow(1, 1_000), 2);
        }
        let (whose, waited, cost) = simulation.serve();
        if whose.partition == 1_000 {
            (longest, times) = (longest.max(waited), times + 1);
        } else {
            simulation.ask(flow(1, 2_000 + step), cost);
        }
    }
    assert!(
        times > 100 && longest <= 11 * 100,
        "{times} times, {longest}"
    );
}

#[test]
fn small_requests_do_not_delay_a_large_one_forever() {
    let mut simulation = Simulation::new();
    simulation.ask(flow(1, 0), 100);
    for partition in 1..=10 {
        simulation.ask(flow(1, partition), 2);
    }
    let mut waited = None;
    for step in 0..10_000 {
        let (whose, wait, cost) = simulation.serve();
        if whose.partition == 0 {
            waited = Some(wait);
            break;
        }
        // Each request has a new partition.
        simulation.ask(flow(1, 100 + step), cost);
    }
    // With a share of 1/11 of the server, a request of cost 100 takes a time of 1,100.
    assert!(waited.is_some_and(|waited| waited <= 1_200), "{waited:?}");
}

#[test]
fn many_partitions_give_an_account_no_larger_share() {
    let mut simulation = Simulation::new();
    for partition in 0..1_000 {
        simulation.ask(flow(1, partition), 10);
    }
    simulation.ask(flow(2, 0), 10);
    let mut served = BTreeMap::new();
    for _ in 0..600 {
        let (whose, _, cost) = simulation.serve();
        *served.entry(whose.account).or_insert(0) += 1;
        simulation.ask(whose, cost);
    }
    assert_eq!((served[&1], served[&2]), (300, 300));
}

#[test]
fn a_flow_that_leaves_and_returns_gets_no_larger_share() {
    // The first flow always has a request waiting, the second sends a large request only after its last was served.
    let mut simulation = Simulation::new();
    for _ in 0..10 {
        simulation.ask(flow(1, 1), 10);
    }
    simulation.ask(flow(2, 2), 100);
    let mut work = BTreeMap::new();
    for _ in 0..1_100 {
        let (whose, _, cost) = simulation.serve();
        *work.entry(whose.account).or_insert(0_u64) += cost;
        simulation.ask(whose, cost);
    }
    assert!(work[&1].abs_diff(work[&2]) <= 200, "{work:?}");
}

#[test]
fn memory_is_bounded_by_the_waiting_requests() {
    let mut queue = FairQueue::default();
    let mut last = None;
    for number in 0..10_000 {
        // Two requests always wait, each of a flow that never returns.
        queue.push(flow(number % 1_000, number), 1 + number % 7);
        if last.is_some() {
            queue.pop();
        }
        last = Some(number);
    }
    assert!(queue.known() < 1_000, "{}", queue.known());
    while queue.pop().is_some() {}
    assert_eq!((queue.known(), queue.is_empty()), (0, true));
}

proptest! {
    /// Accounts that wait all the time get equal shares, to within the cost of two requests.
    #[test]
    fn waiting_flows_get_equal_shares(
        costs in prop::collection::vec(prop::collection::vec(1_u64..50, 60), 2..6),
    ) {
        let mut queue = FairQueue::default();
        let mut cost_of = BTreeMap::new();
        for (account, costs) in (0..).zip(&costs) {
            for (place, cost) in (0..).zip(costs) {
                // Each account has two partitions, in turn.
                cost_of.insert(queue.push(flow(account, place % 2), *cost), (account, *cost));
            }
        }
        let mut work: BTreeMap<u64, u64> = (0..costs.len() as u64).map(|account| (account, 0)).collect();
        while queue.by_account().len() == costs.len() && queue.by_account().values().all(|waiting| *waiting > 0) {
            let most = *work.values().max().unwrap();
            let least = *work.values().min().unwrap();
            prop_assert!(most - least <= 2 * 50, "{work:?}");
            let (account, cost) = cost_of[&queue.pop().unwrap()];
            *work.get_mut(&account).unwrap() += cost;
        }
    }

    /// No request is lost, duplicated or out of order within its flow, even if others are removed from the queue.
    #[test]
    fn each_request_comes_out_once_and_in_order(
        steps in prop::collection::vec((0_u64..3, 0_u64..3, 1_u64..9, 0_u8..5), 0..200),
    ) {
        let (mut queue, mut waiting) = (FairQueue::default(), Vec::new());
        for (account, partition, cost, what) in steps {
            match what {
                0..=2 => {
                    let flow = flow(account, partition);
                    waiting.push((queue.push(flow, cost), flow, cost));
                }
                3 => {
                    let first = queue.first();
                    prop_assert_eq!(first.is_some(), !waiting.is_empty());
                    let Some(ticket) = queue.pop() else { continue };
                    let at = waiting.iter().position(|(other, ..)| *other == ticket).unwrap();
                    let (_, flow, cost) = waiting.remove(at);
                    prop_assert_eq!(first, Some((ticket, cost)));
                    let earlier = waiting.iter().any(|(other, of, _)| *of == flow && *other < ticket);
                    prop_assert!(!earlier, "overtaken within its flow");
                }
                _ if waiting.is_empty() => {}
                _ => {
                    let at = usize::try_from(cost).unwrap() % waiting.len();
                    let (ticket, flow, _) = waiting.remove(at);
                    queue.remove(flow, ticket);
                    queue.remove(flow, ticket);
                }
            }
            prop_assert_eq!(queue.is_empty(), waiting.is_empty());
        }
    }
}

fn key(account: &str, partition: &str) -> bytes::Bytes {
    TableSpace::new(account, TableId(1)).entity(partition, "r")
}

/// The output of a future that is ready at the first poll.
fn is_done<T>(future: std::pin::Pin<&mut impl Future<Output = T>>) -> Option<T> {
    let mut context = Context::from_waker(Waker::noop());
    match future.poll(&mut context) {
        std::task::Poll::Ready(done) => Some(done),
        std::task::Poll::Pending => None,
    }
}

#[tokio::test]
async fn requests_are_admitted_in_fair_order_and_released_once() {
    let gate = AdmissionQueue::new(10);
    let first = gate.enter(&key("hog", "p"), 10).await.unwrap();
    let (hog, mouse) = (key("hog", "p"), key("mouse", "p"));
    let mut second = pin!(gate.enter(&hog, 10));
    let mut third = pin!(gate.enter(&hog, 10));
    let mut fourth = Box::pin(gate.enter(&mouse, 4));
    let mut fifth = pin!(gate.enter(&mouse, 4));
    for waits in [
        is_done(second.as_mut()).is_none(),
        is_done(third.as_mut()).is_none(),
        is_done(fourth.as_mut()).is_none(),
        is_done(fifth.as_mut()).is_none(),
    ] {
        assert!(waits);
    }
    drop(first);
    let place = is_done(second.as_mut()).expect("the first one").unwrap();
    assert!(is_done(fourth.as_mut()).is_none());
    drop(place);
    assert!(
        is_done(third.as_mut()).is_none(),
        "the other account is next"
    );
    // The request was admitted, and is dropped before it is polled.
    drop(fourth);
    let place = is_done(fifth.as_mut()).expect("the next one").unwrap();
    assert!(is_done(third.as_mut()).is_none());
    drop(place);
    drop(is_done(third.as_mut()).expect("the last one").unwrap());
    let state = gate.state.lock();
    assert_eq!(
        (state.admitted, state.waiters.len(), state.queue.is_empty()),
        (0, 0, true)
    );
}

#[tokio::test]
async fn hand_over_runs_the_admitted_request_first() {
    let gate = AdmissionQueue::new(1);
    let key = key("a", "p");
    let first = gate.enter(&key, 1).await.unwrap();
    let mut second = pin!(gate.enter(&key, 1));
    assert!(is_done(second.as_mut()).is_none());
    let mut handing_over = pin!(first.hand_over());
    assert!(is_done(handing_over.as_mut()).is_none());
    let second = is_done(second.as_mut()).expect("the next one").unwrap();
    assert!(is_done(handing_over.as_mut()).is_some());
    assert!(
        is_done(pin!(second.hand_over())).is_some(),
        "no request waits"
    );
}

#[tokio::test]
async fn leaving_the_queue_admits_the_next() {
    let gate = AdmissionQueue::new(10);
    let half = gate.enter(&key("a", "p"), 6).await.unwrap();
    let (large, small) = (key("b", "p"), key("c", "p"));
    let mut whole = Box::pin(gate.enter(&large, 10));
    let mut little = pin!(gate.enter(&small, 4));
    assert!(is_done(whole.as_mut()).is_none());
    assert!(is_done(little.as_mut()).is_none(), "no overtaking");
    drop(whole);
    drop(is_done(little.as_mut()).expect("there is room").unwrap());
    drop(half);
    assert_eq!(gate.state.lock().admitted, 0);
}

#[tokio::test(start_paused = true)]
async fn waiting_ends_with_a_refusal() {
    let gate = AdmissionQueue::new(1);
    let place = gate.enter(&key("a", "p"), 1).await.unwrap();
    let refused = gate.enter(&key("b", "p"), 1).await.unwrap_err();
    assert_eq!(refused.reason, crate::BusyReason::Overloaded);
    drop(place);
    // The refused request left nothing behind.
    drop(gate.enter(&key("c", "p"), 1).await.unwrap());
    assert_eq!(gate.state.lock().admitted, 0);
}
