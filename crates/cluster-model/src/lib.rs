//! A checked model of the cluster protocol: who owns a range, how its log is fenced, how ranges change shape, and how
//! requests find the owner.
//!
//! Four models are explored breadth first to the end, each with bounds on faults and operations: `log`, `ownership`, `shape`
//! (splits, merges and moves together with take-overs) and `forwarding` (with holding and caches). Each rule of the design
//! is a [`Rule`] that can be dropped. [`cases`] is the table of results: with all rules every property holds; without a rule
//! the named property fails, or another rule covers it and both together are needed. The table fails in both directions.
//!
//! `docs/design/0007-cluster-model.md` describes the models, the results and what is not modelled.

mod case;
mod check;
mod forwarding;
mod log;
mod ownership;
mod rule;
mod shape;
#[cfg(test)]
mod tests;

pub use self::{
    case::Case,
    check::{Expected, Outcome},
    rule::Rule,
};

/// The table of results.
#[must_use]
pub fn cases() -> Vec<Case> {
    let models = [
        log::cases::cases(),
        ownership::cases::cases(),
        shape::cases::cases(),
        forwarding::cases::cases(),
    ];
    models.into_iter().flatten().collect()
}
