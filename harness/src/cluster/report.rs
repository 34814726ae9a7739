//! What the rounds found: the pauses of each kind of fault.

use std::collections::BTreeMap;
use std::time::Duration;

use super::faults::Fault;
use super::load::Checked;

/// The figures of all rounds.
#[derive(Debug, Default)]
pub(super) struct Report {
    /// For each kind of fault, and whether it struck a server that serves: the pauses of the other servers' clients.
    pauses: BTreeMap<(String, bool), Vec<Duration>>,
    rounds: u64,
    operations: usize,
    unknown: usize,
    /// Puts and deletions of messages.
    pub(super) messages: u64,
    /// How often servers ended by themselves.
    pub(super) ended: u64,
}

impl Report {
    /// Adds a round, and prints it.
    pub(super) fn add(
        &mut self,
        round: u64,
        fault: &Fault,
        serves: bool,
        others: Duration,
        victim: Duration,
        checked: &Checked,
    ) {
        let role = if serves { "serving" } else { "other" };
        eprintln!(
            "round {round}: {} for {:.1} s, server {} ({role}): longest pause of the others {:.2} s, of its clients {:.2} s; \
             {} operations, {} unknown",
            fault.kind,
            fault.lasts.as_secs_f64(),
            fault.victim + 1,
            others.as_secs_f64(),
            victim.as_secs_f64(),
            checked.operations,
            checked.unknown
        );
        self.rounds += 1;
        self.operations += checked.operations;
        self.unknown += checked.unknown;
        let pauses = self.pauses.entry((fault.kind.to_string(), serves));
        pauses.or_default().push(others);
    }

    /// Prints the table of pauses.
    pub(super) fn print(&mut self) {
        println!(
            "cluster: {} rounds, {} operations in checked histories, {} of them without an answer, {} messages put or deleted, \
             {} ends of servers by themselves",
            self.rounds, self.operations, self.unknown, self.messages, self.ended
        );
        println!("| fault | struck | rounds | pause, median | longest |");
        println!("| --- | --- | --- | --- | --- |");
        for ((kind, serves), pauses) in &mut self.pauses {
            pauses.sort_unstable();
            let median = pauses[pauses.len() / 2].as_secs_f64();
            let longest = pauses[pauses.len() - 1].as_secs_f64();
            let struck = if *serves {
                "a serving server"
            } else {
                "another"
            };
            let rounds = pauses.len();
            println!("| {kind} | {struck} | {rounds} | {median:.2} s | {longest:.2} s |");
        }
    }
}
