//! What the rounds found: the pauses of each kind of fault.

use std::collections::BTreeMap;
use std::time::Duration;

use super::faults::Fault;
use super::load::Checked;

/// What a round did.
#[derive(Debug)]
pub(super) struct Tried {
    pub(super) fault: Fault,
    pub(super) second: Option<Fault>,
    /// Whether the server that the fault struck served ranges.
    pub(super) serves: bool,
    /// The longest time in which clients of a server got no answer: of those that no fault struck, and of the others.
    pub(super) others: Duration,
    pub(super) struck: Duration,
    /// Splits, merges and moves.
    pub(super) changes: u64,
}

/// The figures of all rounds.
#[derive(Debug, Default)]
pub(super) struct Report {
    /// For each kind of fault, and whether it struck a server that serves: the pauses of the other servers' clients.
    pauses: BTreeMap<(String, bool), Vec<Duration>>,
    rounds: u64,
    operations: usize,
    unknown: usize,
    changes: u64,
    /// Puts and deletions of messages.
    pub(super) messages: u64,
    /// How often servers ended by themselves.
    pub(super) ended: u64,
    /// Snapshots whose rows were checked.
    pub(super) snapshots: usize,
    /// Rows of the backup.
    pub(super) backup_rows: usize,
    /// What the programs of users did, and errors after outages that their retries do not cover.
    pub(super) users: Vec<String>,
    pub(super) excused: u64,
}

impl Report {
    /// Adds a round, and prints it.
    pub(super) fn add(&mut self, round: u64, tried: &Tried, checked: &Checked) {
        let Tried { fault, second, .. } = tried;
        let second = second.map_or_else(String::new, |second| format!(", and {second}"));
        let role = if tried.serves { "serving" } else { "other" };
        eprintln!(
            "round {round}: {fault} ({role}){second}: longest pause of other servers {:.2} s, of the struck one {:.2} s; \
             {} operations, {} unknown, {} splits, merges and moves",
            tried.others.as_secs_f64(),
            tried.struck.as_secs_f64(),
            checked.operations,
            checked.unknown,
            tried.changes
        );
        self.rounds += 1;
        self.operations += checked.operations;
        self.unknown += checked.unknown;
        self.changes += tried.changes;
        let name = match second.is_empty() {
            true => fault.kind.to_string(),
            false => "two at a time".to_owned(),
        };
        let pauses = self.pauses.entry((name, tried.serves));
        pauses.or_default().push(tried.others);
    }

    /// Prints the table of pauses.
    pub(super) fn print(&mut self) {
        println!(
            "cluster: {} rounds, {} operations in checked histories, {} of them without an answer, {} messages put or deleted, \
             {} splits, merges and moves, {} snapshots, {} rows in a backup, {} ends of servers by themselves",
            self.rounds,
            self.operations,
            self.unknown,
            self.messages,
            self.changes,
            self.snapshots,
            self.backup_rows,
            self.ended
        );
        println!(
            "official clients: {}; {} errors in outages that retries do not cover",
            self.users.join(", "),
            self.excused
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
