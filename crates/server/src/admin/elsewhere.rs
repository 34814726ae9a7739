//! Pages and actions of a cluster: any server answers for all, and asks the others over the connections between servers.
//!
//! ```text
//!  ranges, hot                  this server and all others; those that do not answer are named
//!  split, merge, move, expel    the manager
//!  balance, finalize            the manager
//!  flush, compact, …            the server of the range
//!  drain, undrain               the server itself
//!  snapshots, backups           the manager
//!  restored tables              the server of the catalog
//!  jobs                         this server and all others: a job runs where its action was performed
//! ```
//!
//! The port has no credentials, but takes actions on loopback only. So a server trusts what another one sends: mutual TLS
//! says that it has the cluster key.

use std::time::Duration;

use bytes::Bytes;
use futures::future::join_all;
use hyper::StatusCode;
use partita_coordinator::{RangeId, RangeState};
use partita_peer::{self as peer, Class, Peer};
use partita_service::catalog_start;
use partita_wire::admin::{Hot, Job, JobList, Ranges};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::answer::{Answer, Answered};
use super::params::Params;
use super::{here, hot, ranges};
use crate::forwarding::ADMIN_VERSION;
use crate::status::{ClusterView, OpenStore, ServerStatus};

/// How long another server may take to answer a read.
const READ_PATIENCE: Duration = Duration::from_secs(2);

/// How long the manager may take to list snapshots: it asks all servers for their files.
const LIST_PATIENCE: Duration = Duration::from_secs(10);

/// How long another server may take to perform an action.
const ACT_PATIENCE: Duration = Duration::from_secs(110);

/// The most bytes of an answer.
const ANSWER_BYTES_MAX: usize = 64 << 20;

/// A page or an action, for another server, which answers for itself only.
#[derive(Debug, Serialize, Deserialize)]
struct Asked {
    /// The parts of the path behind `/admin/v1/`.
    path: Vec<String>,
    query: Option<String>,
    /// The body of an action; nothing for a page.
    body: Option<String>,
}

/// Answers another server, with the status and the document.
pub(crate) async fn answer(server: &ServerStatus, asked: &[u8]) -> (u16, String) {
    let answered = match serde_json::from_slice::<Asked>(asked) {
        Ok(Asked { path, query, body }) => {
            let path: Vec<&str> = path.iter().map(String::as_str).collect();
            match body {
                Some(body) => here::act_here(server, &path, body.as_bytes()).await,
                None => here::read_here(server, &path, query.as_deref()).await,
            }
        }
        Err(error) => Err(Answer::invalid_body(error.to_string())),
    };
    let answer = answered.unwrap_or_else(|refused| refused);
    (answer.status.as_u16(), answer.json)
}

/// A page of a cluster; `None` for one that each server answers for itself.
pub(super) async fn read(
    server: &ServerStatus,
    path: &[&str],
    query: Option<&str>,
) -> Option<Answered> {
    let view = server.cluster_view()?;
    let store = server.open()?;
    match path {
        ["ranges"] => Some(all_ranges(view, store).await),
        ["hot"] => Some(all_hot(server, view, store, query).await),
        ["snapshots", ..] => {
            let manager = manager(view)?;
            if manager == view.name {
                return None;
            }
            let asked = page(path, query.map(str::to_owned));
            Some(ask_one(view, &manager, &asked, LIST_PATIENCE).await)
        }
        ["jobs"] => Some(all_jobs(server, view).await),
        ["jobs", id] => {
            let here = id.parse().ok().and_then(|id| server.jobs.find(id));
            match here {
                Some(_) => None,
                None => job_elsewhere(view, path).await,
            }
        }
        _ => None,
    }
}

/// The jobs of all servers, those of each server latest first.
async fn all_jobs(server: &ServerStatus, view: &ClusterView) -> Answered {
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
async fn job_elsewhere(view: &ClusterView, path: &[&str]) -> Option<Answered> {
    let (found, _) = others::<Job>(view, &page(path, None)).await;
    let (_, job) = found.into_iter().next()?;
    Some(Answer::ok(&job))
}

/// An action that another server has to perform; `None` if it is for this one.
pub(super) async fn act(server: &ServerStatus, path: &[&str], body: &[u8]) -> Option<Answered> {
    let view = server.cluster_view()?;
    let target = match path {
        ["ranges", _, "split" | "merge" | "move" | "freeze"] | ["servers", _, "expel"] => {
            manager(view)
        }
        // A restore writes the records of its tables.
        ["snapshots", _, "restore"] => {
            let table = view.routes.current();
            let catalog = table.range_of(&catalog_start());
            catalog.and_then(|(id, _)| owner(view, id.0))
        }
        ["ranges", range, _] => {
            let owner = range.parse().ok().and_then(|range| owner(view, range));
            // An unknown range is refused by any server.
            owner.or_else(|| Some(view.name.clone()))
        }
        ["servers", name, _] => Some((*name).to_owned()),
        _ => manager(view),
    };
    let Some(target) = target else {
        let message = "the cluster has no manager now, or its catalog is not served";
        let status = StatusCode::SERVICE_UNAVAILABLE;
        return Some(Err(Answer::refused(status, "NotManager", message)));
    };
    if target == view.name {
        return None;
    }
    let asked = Asked {
        body: Some(String::from_utf8_lossy(body).into_owned()),
        ..page(path, None)
    };
    Some(ask_one(view, &target, &asked, ACT_PATIENCE).await)
}

fn manager(view: &ClusterView) -> Option<String> {
    let table = view.routes.current();
    table
        .manager()
        .map(|manager| manager.record.owner.name.clone())
}

fn owner(view: &ClusterView, range: u64) -> Option<String> {
    let table = view.routes.current();
    let key = table.ranges().get(&RangeId(range))?;
    match &key.record.state {
        RangeState::Serving { owner, .. } => Some(owner.name.clone()),
        RangeState::Opening { .. } | RangeState::Released => None,
    }
}

/// Asks another server, or finds that it is this one.
async fn ask_one(view: &ClusterView, name: &str, asked: &Asked, patience: Duration) -> Answered {
    let gone = |why: String| {
        let status = StatusCode::SERVICE_UNAVAILABLE;
        Answer::refused(status, "Unreachable", format!("server {name}: {why}"))
    };
    let peer = view.routing.peer(name);
    let peer = peer.ok_or_else(|| gone("it is not a living server of the cluster".into()))?;
    let (status, json) = ask(&peer, asked, patience).await.map_err(gone)?;
    let answer = Answer { status, json };
    match status.is_success() {
        true => Ok(answer),
        false => Err(answer),
    }
}

async fn ask(
    peer: &Peer,
    asked: &Asked,
    patience: Duration,
) -> Result<(StatusCode, String), String> {
    let body = serde_json::to_vec(asked).map_err(|error| error.to_string())?;
    let asking = async {
        let sent = peer.send(Class::Bulk, &[ADMIN_VERSION], body.into()).await;
        let peer::Answer { head, body } = sent.map_err(|error| error.to_string())?;
        let [ADMIN_VERSION, low, high] = *head else {
            return Err("its answer is malformed".to_owned());
        };
        let status = StatusCode::from_u16(u16::from_le_bytes([low, high]));
        let body = body.collect(ANSWER_BYTES_MAX).await;
        let body: Bytes = body.map_err(|error| error.to_string())?;
        let json = String::from_utf8(body.into()).map_err(|error| error.to_string())?;
        Ok((status.map_err(|error| error.to_string())?, json))
    };
    let asked = tokio::time::timeout(patience, asking).await;
    asked.unwrap_or_else(|_| Err("it does not answer".to_owned()))
}

/// The documents of all other servers, and the names of those that did not answer.
async fn others<T: DeserializeOwned>(
    view: &ClusterView,
    asked: &Asked,
) -> (Vec<(String, T)>, Vec<String>) {
    let table = view.routes.current();
    let others = table.servers().keys().filter(|name| **name != view.name);
    let asking = others.map(|name| async move {
        let document = match view.routing.peer(name) {
            Some(peer) => ask(&peer, asked, READ_PATIENCE).await,
            None => Err("it has no address".to_owned()),
        };
        let document = document.and_then(|(_, json)| {
            serde_json::from_str::<T>(&json).map_err(|error| error.to_string())
        });
        if let Err(error) = &document {
            tracing::debug!(server = name, %error, "a server did not answer for its ranges");
        }
        (name.clone(), document.ok())
    });
    let (mut documents, mut silent) = (Vec::new(), Vec::new());
    for (name, document) in join_all(asking).await {
        match document {
            Some(document) => documents.push((name, document)),
            None => silent.push(name),
        }
    }
    (documents, silent)
}

fn page(path: &[&str], query: Option<String>) -> Asked {
    Asked {
        path: path.iter().map(|&part| part.to_owned()).collect(),
        query,
        body: None,
    }
}

/// The ranges of all servers, in key order.
async fn all_ranges(view: &ClusterView, store: &OpenStore) -> Answered {
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
    all.silent = (!silent.is_empty()).then_some(silent);
    Answer::ok(&all)
}

/// The hottest partitions of all servers.
async fn all_hot(
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
    all.silent = (!silent.is_empty()).then_some(silent);
    Answer::ok(&all)
}
