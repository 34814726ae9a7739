//! Planted bugs: a fleet whose results are not exact, to prove that a test detects it.
//!
//! Compiled only with the feature `planted-bugs`, which only `cargo harness bugs` builds. The environment variable
//! `FAILPOINTS` activates a bug by its name, as in the crates of the server: `FAILPOINTS=fleet-blind-commit=return`.

use partita_client::{IfMatch, TransactionAction};

/// `fleet-blind-commit`: a step is committed although another worker has committed it.
pub(super) fn condition(if_match: IfMatch) -> IfMatch {
    match is_active("fleet-blind-commit") {
        true => IfMatch::Any,
        false => if_match,
    }
}

/// `fleet-late-follow-ups`: the follow-up steps are not in the transaction that commits their step. Returns those that are
/// to be created afterwards.
pub(super) fn late(actions: &mut Vec<TransactionAction>) -> Vec<TransactionAction> {
    match is_active("fleet-late-follow-ups") {
        true => actions.split_off(1),
        false => Vec::new(),
    }
}

fn is_active(bug: &str) -> bool {
    let active = std::env::var("FAILPOINTS").unwrap_or_default();
    active
        .split(';')
        .any(|it| it.strip_prefix(bug) == Some("=return"))
}
