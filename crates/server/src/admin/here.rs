//! The pages and actions of this server.

use hyper::StatusCode;
use partita_wire::admin::{NoSuchPage, RangeActionParams};

use super::answer::{Answer, Answered};
use super::heat::OtherHistories;
use super::snapshots::ActionContext;
use super::{heat, hot, queues, ranges, servers, snapshots, status};
use crate::status::{OpenStore, ServerStatus};

/// The pages that a 404 lists.
const PAGES: [&str; 10] = [
    "/healthz",
    "/readyz",
    "/metrics",
    "/admin/v1/status",
    "/admin/v1/ranges",
    "/admin/v1/heat",
    "/admin/v1/hot",
    "/admin/v1/queues",
    "/admin/v1/snapshots",
    "/admin/v1/jobs",
];

/// The open store, or the refusal while it is being opened.
pub(super) fn open_store(server: &ServerStatus) -> Result<&OpenStore, Answer> {
    server.open().ok_or_else(starting)
}

/// Answers a read for this server.
pub(super) async fn read_here(
    server: &ServerStatus,
    path: &[&str],
    query: Option<&str>,
) -> Answered {
    let store = || open_store(server);
    match *path {
        ["status"] => Answer::ok(&status::status(server)),
        ["jobs"] => snapshots::jobs(server),
        ["jobs", id] => snapshots::job(server, id),
        ["heat"] => {
            let query = heat::query(query, server.now())?;
            heat::map(store()?, &query, OtherHistories::default()).await
        }
        ["hot"] => hot::hot(store()?, query, server.balances()).await,
        ["queues"] => queues::list(store()?, query).await,
        ["ranges"] => Answer::ok(&ranges::list(store()?).await?),
        ["ranges", _] => {
            let message = "the path has no action: expected POST /admin/v1/ranges/ID/ACTION";
            Err(Answer::not_found("NoSuchAction", message))
        }
        ["snapshots"] => snapshots::list(&store()?.snapshots).await,
        ["snapshots", name] => snapshots::show(&store()?.snapshots, name).await,
        _ => Err(no_such_page()),
    }
}

/// Performs an action in this server.
pub(super) async fn act_here(server: &ServerStatus, path: &[&str], body: &[u8]) -> Answered {
    let store = open_store(server)?;
    match *path {
        ["ranges", id, "move"] => {
            let params: RangeActionParams = ranges::read_params(body)?;
            servers::move_range(server, ranges::read_id(id)?, params.to.as_deref()).await
        }
        ["ranges", id, action] => ranges::act(store, id, action, body).await,
        ["balance", action] => servers::balance(server, action).await,
        ["version", action] => servers::version(server, action).await,
        ["servers", name, action] => servers::act(server, name, action).await,
        ["snapshots", name, action] => {
            snapshots::act(&ActionContext { server, store }, name, action, body).await
        }
        _ => Err(no_such_page()),
    }
}

pub(super) fn no_such_page() -> Answer {
    let page = NoSuchPage {
        error: "no such page".to_owned(),
        pages: PAGES.map(str::to_owned).to_vec(),
    };
    Answer::new(StatusCode::NOT_FOUND, &page)
}

fn starting() -> Answer {
    let status = StatusCode::SERVICE_UNAVAILABLE;
    Answer::refused(status, "Starting", "the data is being opened")
}
