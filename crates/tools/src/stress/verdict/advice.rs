//! Advice on a table's design. Each piece of advice states the observation, the remedy and its cost.

use super::{DUE_FOR_BEGUN_MAX, End, Evidence, Judged, Scope, State, is_stricter};
use crate::stress::mix::Kind;
use partita_load::thousands;

/// The planned load of a bucket as a share of the target. The rest is a reserve, because hashes are uneven and load has
/// peaks.
const BUCKET_FILL: f64 = 0.7;
/// The minimum share of refused attempts at which their reason affects the advice.
const MENTIONED_SHARE_MIN: f64 = 0.05;
/// The minimum share at which a refusal reason, a kind of operation or a partition dominates.
const MOSTLY: f64 = 0.5;
/// Maximum number of buckets to advise; more are not practical.
const BUCKETS_MAX: u64 = 10_000;

/// The advice, the most important first.
pub(super) fn of(evidence: &Evidence<'_>, judged: &[Judged]) -> Vec<String> {
    let all = [
        stricter(evidence, judged),
        keys(evidence, judged),
        batches(evidence),
        account(judged),
        scans(evidence),
        refusals(evidence, judged),
        retries(evidence),
        rate(evidence),
        failures(evidence),
    ];
    all.into_iter().flatten().collect()
}

/// Advises buckets if the load of a PartitionKey, or at an end of the table, exceeds or nearly reaches its target, or
/// if the server refused most attempts because of a partition's target.
fn keys(evidence: &Evidence<'_>, judged: &[Judged]) -> Option<String> {
    let of = |scope| judged.iter().find(|one| one.scope == scope);
    let (partition, server) = (of(Scope::Partition)?, of(Scope::Server)?);
    let by_target = refused_as(evidence, "partition-target") > MOSTLY;
    let is_over = server.state == State::Over || by_target;
    if !is_over {
        return (server.state == State::Near).then(|| headroom(server));
    }
    let worst = if server.ratio() > partition.ratio() {
        server
    } else {
        partition
    };
    let buckets = buckets(worst);
    let how_many = match evidence.at_a_rate || !by_target {
        true => format!(
            "{buckets} buckets (each then takes about {}/s)",
            thousands(worst.asked_per_second / buckets as f64)
        ),
        false => format!(
            "at least {buckets} buckets (a closed loop slows down with the server; --rate measures how many)"
        ),
    };
    let Some((end, written)) = evidence.grows() else {
        let name = name(evidence);
        return Some(format!(
            "{name} exceeds the target of a partition. Put a hash of the RowKey before or after it: \
             PartitionKey = hash(RowKey) % {buckets} + '-' + key, {how_many}. Reading all of its rows then takes {buckets} parallel \
             queries; one point get still finds a row by its RowKey."
        ));
    };
    let (where_, again) = match end {
        End::Tail => ("growing", "end"),
        End::Head => ("shrinking", "start"),
    };
    Some(format!(
        "PartitionKeys are {where_}, so all {} writes/s go to the range at the {again} of the table, on one server; splitting the \
         range does not help, because the next rows are beyond the split again. Put a bucket before the time: \
         PartitionKey = hash(RowKey) % {buckets} + '-' + time, {how_many}. The newest rows are then read by {buckets} queries, one for each \
         bucket, and merged.",
        thousands(written)
    ))
}

fn headroom(server: &Judged) -> String {
    format!(
        "Little headroom: the load is {:.0} % of a partition's target. Plan for {} buckets before the load grows.",
        server.ratio() * 100.0,
        buckets(server).max(2)
    )
}

/// The name of the busiest partition, or a description if it changes from second to second.
fn name(evidence: &Evidence<'_>) -> String {
    match evidence.partitions.first() {
        Some(busiest) if evidence.busiest_asked_per_second <= 2.0 * busiest.asked_per_second => {
            format!("PartitionKey {:?}", busiest.partition_key)
        }
        _ => "The busiest PartitionKey of each second".to_owned(),
    }
}

/// The number of partitions that the load needs, with a reserve for uneven hashes.
fn buckets(judged: &Judged) -> u64 {
    let wanted = (judged.ratio() / BUCKET_FILL).ceil();
    (wanted as u64).clamp(2, BUCKETS_MAX)
}

/// Advises transactions if most operations insert single rows into one partition.
fn batches(evidence: &Evidence<'_>) -> Option<String> {
    let inserts = share(evidence, Kind::Insert);
    let busiest = evidence.partitions.first()?;
    let is_one = busiest.share >= MOSTLY;
    (inserts >= MOSTLY && is_one).then(|| {
        "Rows are inserted one by one into one partition. Transactions of up to 100 of its rows take a hundredth of the requests and of \
         the waiting; they contain as many entities, so they do not reduce the load on the partition."
            .to_owned()
    })
}

/// Advises several accounts if the total load exceeds the target of an account.
fn account(judged: &[Judged]) -> Option<String> {
    let account = judged.iter().find(|one| one.scope == Scope::Account)?;
    (account.state == State::Over).then(|| {
        format!(
            "The total load is {:.1} times the target of an account: spread the tables over {} accounts, or write fewer entities.",
            account.ratio(),
            buckets(account)
        )
    })
}

/// Advises bounded queries if operations scan the whole table.
fn scans(evidence: &Evidence<'_>) -> Option<String> {
    let (_, _, p99_us) = evidence
        .kinds
        .iter()
        .find(|(kind, count, _)| *kind == Kind::Scan && *count > 0)?;
    let (ms, part) = (
        *p99_us as f64 / 1_000.0,
        share(evidence, Kind::Scan) * 100.0,
    );
    Some(format!(
        "{part:.1} % of the operations scan the whole table (p99 {} ms, and growing with the table). Give the query a lower and an upper \
         bound of the PartitionKey, keep a second table with the searched property as its key, or read by keys.",
        thousands(ms)
    ))
}

/// Explains refusals by targets that the load does not exceed: the server has lower ones.
fn stricter(evidence: &Evidence<'_>, judged: &[Judged]) -> Option<String> {
    let is_stricter = evidence.is_refused() && is_stricter(evidence, judged);
    is_stricter.then(|| {
        let by_account = refused_as(evidence, "account-target");
        let of = match by_account > MOSTLY {
            true => "for the account",
            false => "for a partition",
        };
        format!(
            "The server is stricter than --target {}: it has a lower target {of}. Judge the run by the server's own targets (--target classic, \
             --target-partition, --target-account).",
            evidence.targets.name()
        )
    })
}

/// Explains refused attempts whose reason is not an exceeded target.
fn refusals(evidence: &Evidence<'_>, judged: &[Judged]) -> Option<String> {
    if !evidence.is_refused() {
        return None;
    }
    if refused_as(evidence, "range-in-transit") > MOSTLY {
        return Some(
            "Most refusals came from ranges that were being split or moved, which lasts under a second; the usual retries cover it. \
             Run again: when the ranges no longer change, these refusals end."
                .to_owned(),
        );
    }
    if refused_as(evidence, "overloaded") > MOSTLY {
        return Some(
            "The server was overloaded as a whole, whatever the keys are: use fewer workers, a lower rate, or a larger machine.".to_owned(),
        );
    }
    let is_over = judged.iter().any(|one| one.state == State::Over);
    let is_named = refused_as(evidence, "-target") > 0.0;
    (!is_over && !is_named).then(|| {
        "The server refused attempts although the average load exceeds no target. Possible causes are bursts within a second, other load on the \
         account, and ranges that the server moves. Run with a longer --ramp to find out which."
            .to_owned()
    })
}

/// Explains operations that failed because the retry budget was empty.
fn retries(evidence: &Evidence<'_>) -> Option<String> {
    let budget = given_up(evidence, "retry budget used up");
    (budget > 0).then(|| {
        format!(
            "{} operations failed because the client's retry budget was empty: more than a fifth of the requests were refused, and retries \
             would only have added load. Clients without such a budget would have retried with longer and longer waits.",
            thousands(budget as f64)
        )
    })
}

/// Explains why a run did not keep its rate.
fn rate(evidence: &Evidence<'_>) -> Option<String> {
    (evidence.due_for_begun > DUE_FOR_BEGUN_MAX).then(|| {
        format!(
            "Only {:.0} % of the operations that were due could begin: all workers were waiting. Either the server cannot handle the \
             rate, or --workers is too low for it.",
            100.0 / evidence.due_for_begun
        )
    })
}

/// Points to failures that are not caused by load.
fn failures(evidence: &Evidence<'_>) -> Option<String> {
    let other = given_up(evidence, "not worth another attempt");
    (other > 0).then(|| {
        format!(
            "{} operations failed for reasons that have nothing to do with load; see the list of failures.",
            thousands(other as f64)
        )
    })
}

fn given_up(evidence: &Evidence<'_>, reason: &str) -> u64 {
    let counts = &evidence.tries.given_up;
    counts.get(reason).copied().unwrap_or_default()
}

/// The share (0 to 1) of refused attempts whose reason ends with `reason`; 0 if it is below [`MENTIONED_SHARE_MIN`].
pub(super) fn refused_as(evidence: &Evidence<'_>, reason: &str) -> f64 {
    let of_it = evidence
        .tries
        .refused
        .iter()
        .filter(|(word, _)| word.ends_with(reason));
    let count: u64 = of_it.map(|(_, count)| count).sum();
    let share = count as f64 / evidence.tries.refused_sum().max(1) as f64;
    if share < MENTIONED_SHARE_MIN {
        0.0
    } else {
        share
    }
}

/// The share (0 to 1) of this kind among all operations.
fn share(evidence: &Evidence<'_>, wanted: Kind) -> f64 {
    let all: u64 = evidence.kinds.iter().map(|(_, count, _)| count).sum();
    let of_it = evidence.kinds.iter().filter(|(kind, ..)| *kind == wanted);
    of_it.map(|(_, count, _)| *count).sum::<u64>() as f64 / all.max(1) as f64
}
