//! The verdict on a table's design: compares its load with the targets of a service, and gives advice on the keys.
//!
//! | scope | compared load |
//! | --- | --- |
//! | partition | entities per second requested from the busiest PartitionKey |
//! | server | entities per second that one server receives, however the table is split: see [`Scope::Server`] |
//! | account | entities per second requested from the table |
//!
//! The load of a server is compared with the target of a partition, because the service states no target for a server.
//! The verdict depends only on a report's figures, so a stored report can also be judged by other targets.

mod advice;

use super::metrics::{Growth, PartitionMetrics, Tries};
use super::mix::Kind;
use partita_bulk::named_enum;
use partita_load::thousands;
use serde::{Deserialize, Serialize};

/// A run has kept its rate if at most this many operations were due for each operation that began.
pub(super) const DUE_FOR_BEGUN_MAX: f64 = 1.01;

/// A load of at least this share of a target counts as near the target. Measurements on one machine and one day are not
/// exact.
const NEAR: f64 = 0.8;
/// The minimum share of refused attempts that affects the verdict.
const REFUSED_SHARE: f64 = 0.001;
/// A table counts as growing at one end if at least this share of its writes is there.
const GROWS: f64 = 0.5;

/// The targets of a service, in entities per second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Targets {
    /// The target of each partition; `None` to ignore partitions.
    pub partition: Option<f64>,
    /// The target of the account; `None` to ignore it.
    pub account: Option<f64>,
}

impl Targets {
    /// The current targets of Azure ("Scalability and performance targets for Table storage").
    pub const AZURE: Self = Self {
        partition: Some(2_000.0),
        account: Some(20_000.0),
    };
    /// The targets of Azure in the first years of the service.
    pub const CLASSIC: Self = Self {
        partition: Some(500.0),
        account: Some(5_000.0),
    };
    /// No targets: only refused attempts and failed operations are judged.
    pub const OFF: Self = Self {
        partition: None,
        account: None,
    };

    /// The value of `--target` with these targets, for messages.
    fn name(&self) -> &'static str {
        match *self {
            Self::AZURE => "azure",
            Self::CLASSIC => "classic",
            _ => "the targets of this run",
        }
    }
}

/// The figures on which a verdict is based.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence<'a> {
    /// The targets to compare with.
    pub targets: Targets,
    /// Whether operations had a fixed rate. In a closed loop the load depends on the server.
    pub at_a_rate: bool,
    /// Entities per second requested in the steady part, including operations that were due but never began.
    pub asked_per_second: f64,
    /// Entities requested from the busiest partition of each second, on average over the seconds of the steady part.
    pub busiest_asked_per_second: f64,
    /// The number of operations that were due, divided by the number that began: above 1 if the run could not keep its
    /// rate.
    pub due_for_begun: f64,
    /// The partitions, the busiest first.
    pub partitions: &'a [PartitionMetrics],
    /// Writes at the ends of the table.
    pub growth: Growth,
    /// Outcomes of attempts.
    pub tries: &'a Tries,
    /// Number of operations that failed.
    pub failed: u64,
    /// For each kind of operation: the number of operations, and the 99th percentile of their latency in microseconds.
    pub kinds: &'a [(Kind, u64, u64)],
}

named_enum! {
    /// A load compared with its target.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum State {
        /// Below 80 % of the target.
        #[default]
        Within = "within",
        /// From 80 % to 100 % of the target.
        Near = "near",
        /// Above the target, or the server refused attempts.
        Over = "over",
    }
}

named_enum! {
    /// The scope of a target.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Scope {
        /// The busiest partition.
        Partition = "partition",
        /// The server of the busiest partition; if the table grows at one end, the server that gets all new rows.
        Server = "server",
        /// The whole account.
        Account = "account",
    }
}

/// A load compared with its target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Judged {
    /// The scope of the target.
    pub scope: Scope,
    /// A description of the partition, server or account.
    pub what: String,
    /// Entities per second requested from this partition, server or account.
    pub asked_per_second: f64,
    /// The target, in entities per second.
    pub target_per_second: f64,
    /// The load compared with the target.
    pub state: State,
}

impl Judged {
    fn new(scope: Scope, what: String, asked_per_second: f64, target_per_second: f64) -> Self {
        let ratio = asked_per_second / target_per_second;
        let state = match ratio {
            _ if ratio > 1.0 => State::Over,
            _ if ratio >= NEAR => State::Near,
            _ => State::Within,
        };
        Self {
            scope,
            what,
            asked_per_second,
            target_per_second,
            state,
        }
    }

    /// The load divided by the target.
    pub fn ratio(&self) -> f64 {
        self.asked_per_second / self.target_per_second
    }
}

/// The verdict on a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verdict {
    /// The worst state of all loads; `over` also if the server refused attempts or operations failed.
    pub state: State,
    /// A summary in one sentence.
    pub headline: String,
    /// The loads, each compared with its target.
    pub judged: Vec<Judged>,
    /// Advice, the most important first.
    pub advice: Vec<String>,
}

impl Verdict {
    /// The verdict from this evidence.
    pub fn of(evidence: &Evidence<'_>) -> Self {
        let judged = evidence.judged();
        let worst = judged.iter().map(|judged| judged.state).max();
        let state = match worst {
            _ if evidence.is_refused() || evidence.failed > 0 => State::Over,
            Some(state) => state,
            None => State::Within,
        };
        let headline = headline(evidence, &judged, state);
        Self {
            state,
            headline,
            advice: advice::of(evidence, &judged),
            judged,
        }
    }
}

impl Evidence<'_> {
    /// The share (0 to 1) of attempts that the server refused.
    fn refused_share(&self) -> f64 {
        self.tries.refused_sum() as f64 / self.tries.attempts.max(1) as f64
    }

    fn is_refused(&self) -> bool {
        self.refused_share() >= REFUSED_SHARE
    }

    /// Entities per second requested from the busiest partition of the run, or from the busiest of each second if that
    /// is more.
    fn busiest(&self) -> f64 {
        let steady = self
            .partitions
            .first()
            .map_or(0.0, |busiest| busiest.asked_per_second);
        steady.max(self.busiest_asked_per_second)
    }

    /// The end at which the table grows, and the entities per second that are written there; `None` if it does not
    /// grow.
    fn grows(&self) -> Option<(End, f64)> {
        let growth = self.growth;
        let (end, share) = match growth.tail_share >= growth.head_share {
            true => (End::Tail, growth.tail_share),
            false => (End::Head, growth.head_share),
        };
        let written = growth.written_per_second * share * self.due_for_begun;
        (share >= GROWS && written > 0.0).then_some((end, written))
    }

    fn judged(&self) -> Vec<Judged> {
        let mut judged = Vec::new();
        if let (Some(target), Some(busiest)) = (self.targets.partition, self.partitions.first()) {
            let share = busiest.share * 100.0;
            let moves = self.busiest_asked_per_second > 2.0 * busiest.asked_per_second;
            let what = if moves {
                "the busiest PartitionKey of each second".to_owned()
            } else {
                format!(
                    "PartitionKey {:?}, {share:.1} % of the load",
                    busiest.partition_key
                )
            };
            let asked = self.busiest();
            judged.push(Judged::new(Scope::Partition, what, asked, target));
            let (what, on_server) = match self.grows() {
                Some((End::Tail, written)) => ("the range at the end of the table", written),
                Some((End::Head, written)) => ("the range at the start of the table", written),
                None => ("the server of the busiest partition", asked),
            };
            let (what, asked) = (what.to_owned(), on_server.max(asked));
            judged.push(Judged::new(Scope::Server, what, asked, target));
        }
        if let Some(target) = self.targets.account {
            let what = "the whole table".to_owned();
            let asked = self.asked_per_second;
            judged.push(Judged::new(Scope::Account, what, asked, target));
        }
        judged
    }
}

/// An end of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Tail,
    Head,
}

fn headline(evidence: &Evidence<'_>, judged: &[Judged], state: State) -> String {
    let refused = evidence.refused_share();
    // `max_by` returns the last of equal ratios. In reverse order, that is the first one, which has the narrowest
    // scope.
    let worst = judged.iter().rev();
    let worst = worst.max_by(|a, b| a.ratio().total_cmp(&b.ratio()));
    let load = worst.map(|one| {
        format!(
            "{} entities/s requested from one {}, target {} ({:.1} times)",
            thousands(one.asked_per_second),
            one.scope.name(),
            thousands(one.target_per_second),
            one.ratio()
        )
    });
    let load = load.unwrap_or_else(|| "no targets to compare with".to_owned());
    let refusals = format!(
        "the server refused {:.1} % of the attempts ({})",
        refused * 100.0,
        reasons(evidence)
    );
    match state {
        State::Over if evidence.is_refused() && is_stricter(evidence, judged) => {
            let targets = evidence.targets.name();
            format!("Throttled: {refusals}; it is stricter than --target {targets}: {load}")
        }
        State::Over if evidence.is_refused() => format!("Throttled: {refusals}; {load}"),
        State::Over if worst.is_some_and(|one| one.state == State::Over) => {
            let then = match worst.map(|one| one.scope) {
                Some(Scope::Server) => {
                    "in the cloud, a single server would have to handle all of it"
                }
                _ => "a server that enforces the target would",
            };
            format!("Over the target: {load}; this server did not refuse it, but {then}")
        }
        State::Over => format!("{} failed; {load}", operations(evidence.failed)),
        State::Near => format!("Near the target: {load}"),
        State::Within => format!("Within the targets: {load}"),
    }
}

/// The reasons of the refusals, the most frequent first.
fn reasons(evidence: &Evidence<'_>) -> String {
    let mut reasons: Vec<_> = evidence.tries.refused.iter().collect();
    reasons.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let text =
        |(reason, count): &(&String, &u64)| format!("{reason} {}", thousands(**count as f64));
    let texts: Vec<String> = reasons.iter().map(text).collect();
    texts.join(", ")
}

/// Whether the server refused attempts because of its targets, although no load exceeds the targets of the verdict.
fn is_stricter(evidence: &Evidence<'_>, judged: &[Judged]) -> bool {
    let is_over = judged.iter().any(|one| one.state == State::Over);
    !is_over && advice::refused_as(evidence, "-target") > 0.0
}

fn operations(count: u64) -> String {
    match count {
        1 => "1 operation".to_owned(),
        _ => format!("{} operations", thousands(count as f64)),
    }
}

#[cfg(test)]
mod tests;
