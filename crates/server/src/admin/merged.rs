//! The pages of a cluster that are put together from those of all servers, with the names of those that did not answer.
//!
//! Each server answers for the ranges that it serves. So entries are added and sorted, and counts and histograms of the
//! same keys are summed; percentiles of servers are never averaged.

use partita_coordinator::RangeId;
use partita_heat::history::HeatHistory;
use partita_wire::admin::{Hot, Job, JobList, Queues, Ranges, Status};

use super::answer::{Answer, Answered};
use super::heat::{self, OtherHistories, SentHistory};
use super::params::Params;
use super::peers::{others, page};
use super::{hot, queues, ranges, status};
use crate::status::{ClusterView, OpenStore, ServerStatus};

/// The jobs of all servers, those of each server latest first.
pub(super) async fn all_jobs(server: &ServerStatus, view: &ClusterView) -> Answered {
    let mut jobs: Vec<_> = server
        .jobs
        .list()
        .iter()
        .map(|job| job.describe())
        .collect();
    let (others, silent) = others::<JobList>(view, &page(&["jobs"], None)).await;
    for (_, other) in others {
        jobs.extend(other.jobs);
    }
    for name in silent {
        tracing::debug!(server = name, "the jobs of a server are not listed");
    }
    Answer::ok(&JobList { jobs })
}

/// A job of another server; `None` if no server that answers has it.
pub(super) async fn job_elsewhere(view: &ClusterView, path: &[&str]) -> Option<Answered> {
    let (found, _) = others::<Job>(view, &page(path, None)).await;
    let (_, job) = found.into_iter().next()?;
    Some(Answer::ok(&job))
}

/// The ranges of all servers, in key order.
pub(super) async fn all_ranges(view: &ClusterView, store: &OpenStore) -> Answered {
    let mut all = ranges::list(store).await?;
    for range in &mut all.ranges {
        range.server = Some(view.name.clone());
    }
    let (others, silent) = others::<Ranges>(view, &page(&["ranges"], None)).await;
    for (name, other) in others {
        let ranges = other.ranges.into_iter().map(|mut range| {
            range.server = Some(name.clone());
            range
        });
        all.ranges.extend(ranges);
        // The manager knows them.
        all.map_version = all.map_version.max(other.map_version);
        all.change = all.change.or(other.change);
        all.orphans.extend(other.orphans);
        all.balanced += other.balanced;
        all.no_split_key += other.no_split_key;
    }
    let table = view.routes.current();
    let start = |id: u64| {
        let key = table.ranges().get(&RangeId(id));
        key.map(|key| key.record.shape.start.clone())
    };
    all.ranges
        .sort_by_cached_key(|range| (start(range.id), range.id));
    all.missing.silent = (!silent.is_empty()).then_some(silent);
    Answer::ok(&all)
}

/// The hottest partitions of all servers.
pub(super) async fn all_hot(
    server: &ServerStatus,
    view: &ClusterView,
    store: &OpenStore,
    query: Option<&str>,
) -> Answered {
    let limit = hot::limit(&Params::new(query, &["limit"])?)?;
    let mut all = hot::hottest_of(store, limit, server.balances()).await?;
    let (others, silent) = others::<Hot>(view, &page(&["hot"], query.map(str::to_owned))).await;
    for (_, other) in others {
        all.partitions.extend(other.partitions);
        all.splits.extend(other.splits);
        all.growth.extend(other.growth);
        all.balanced += other.balanced;
        all.no_split_key += other.no_split_key;
    }
    all.partitions
        .sort_by_key(|partition| std::cmp::Reverse(partition.load));
    all.partitions.truncate(limit);
    all.missing.silent = (!silent.is_empty()).then_some(silent);
    Answer::ok(&all)
}

/// The heat of all ranges. Other servers send the histories of their ranges, not maps: percentiles cannot be added.
pub(super) async fn all_heat(
    server: &ServerStatus,
    view: &ClusterView,
    store: &OpenStore,
    query: Option<&str>,
) -> Answered {
    let query = heat::query(query, server.now())?;
    let asked = page(&heat::HISTORY, Some(query.time_parameters()));
    let (sent, mut silent) = others::<SentHistory>(view, &asked).await;
    let mut histories = Vec::with_capacity(sent.len());
    for (name, sent) in sent {
        match sent
            .read()
            .and_then(|segments| HeatHistory::of_segments(&segments))
        {
            Ok(history) => histories.push(history),
            Err(error) => {
                tracing::warn!(server = name, error, "cannot read the heat of a server");
                silent.push(name);
            }
        }
    }
    let others = OtherHistories {
        histories,
        silent: (!silent.is_empty()).then_some(silent),
    };
    heat::map(store, &query, others).await
}

/// The fullest queues of all servers.
pub(super) async fn all_queues(
    view: &ClusterView,
    store: &OpenStore,
    query: Option<&str>,
) -> Answered {
    let limit = queues::limit(query)?;
    let mut all = queues::fullest(store, limit).await?;
    let asked = page(&["queues"], query.map(str::to_owned));
    let (others, silent) = others::<Queues>(view, &asked).await;
    for (_, other) in others {
        all.queues.extend(other.queues);
        all.total += other.total;
    }
    all.queues.sort_by(|a, b| {
        b.messages
            .cmp(&a.messages)
            .then_with(|| a.queue.cmp(&b.queue))
    });
    all.queues.truncate(limit);
    all.silent = (!silent.is_empty()).then_some(silent);
    Answer::ok(&all)
}

/// The status of this server, with the health of all.
pub(super) async fn status_with_all(server: &ServerStatus, view: &ClusterView) -> Answered {
    let (others, silent) = others::<Status>(view, &page(&["status"], None)).await;
    let mut own = status::status(server);
    status::add_servers(&mut own, &others, silent);
    Answer::ok(&own)
}
