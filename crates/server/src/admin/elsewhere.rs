//! Pages and actions of a cluster: any server answers for all, and asks the others over the connections between servers.
//!
//! ```text
//!  ranges, heat, hot, queues     this server and all others; those that do not answer are named
//!  status                       this server, with the health of all others
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

use hyper::StatusCode;
use partita_coordinator::{RangeId, RangeState};
use partita_service::catalog_start;

use super::answer::{Answer, Answered};
use super::merged::{
    all_heat, all_hot, all_jobs, all_queues, all_ranges, job_elsewhere, status_with_all,
};
use super::peers::{Asked, ask_one, page};
use super::{heat, here, wall_clock};
use crate::status::{ClusterView, ServerStatus};

/// How long the manager may take to list snapshots: it asks all servers for their files.
const LIST_PATIENCE: Duration = Duration::from_secs(10);

/// How long another server may take to perform an action.
const ACT_PATIENCE: Duration = Duration::from_secs(110);

/// Answers another server, with the status and the document.
pub(crate) async fn answer(server: &ServerStatus, asked: &[u8]) -> (u16, String) {
    let answered = match serde_json::from_slice::<Asked>(asked) {
        Ok(Asked { path, query, body }) => {
            let path: Vec<&str> = path.iter().map(String::as_str).collect();
            match body {
                Some(body) => here::act_here(server, &path, body.as_bytes()).await,
                None if path == heat::HISTORY => here::open_store(server)
                    .and_then(|store| heat::history(store, query.as_deref())),
                None if path == wall_clock::PATH => wall_clock::answer(server.now()),
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
        ["heat"] => Some(all_heat(server, view, store, query).await),
        ["queues"] => Some(all_queues(view, store, query).await),
        ["status"] => Some(status_with_all(server, view).await),
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
