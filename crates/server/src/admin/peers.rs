//! Asks other servers of the cluster for pages and actions, over the connections between servers.

use std::time::Duration;

use bytes::Bytes;
use futures::future::join_all;
use hyper::StatusCode;
use partita_peer::{self as peer, Class, Peer};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::answer::{Answer, Answered};
use crate::forwarding::ADMIN_VERSION;
use crate::status::ClusterView;

/// How long another server may take to answer a read.
const READ_PATIENCE: Duration = Duration::from_secs(2);

/// The most bytes of an answer.
const ANSWER_BYTES_MAX: usize = 64 << 20;

/// A page or an action, for another server, which answers for itself only.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Asked {
    /// The parts of the path behind `/admin/v1/`.
    pub(super) path: Vec<String>,
    pub(super) query: Option<String>,
    /// The body of an action; nothing for a page.
    pub(super) body: Option<String>,
}

/// A page, for another server.
pub(super) fn page(path: &[&str], query: Option<String>) -> Asked {
    Asked {
        path: path.iter().map(|&part| part.to_owned()).collect(),
        query,
        body: None,
    }
}

/// Asks another server, or finds that it is this one.
pub(super) async fn ask_one(
    view: &ClusterView,
    name: &str,
    asked: &Asked,
    patience: Duration,
) -> Answered {
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

/// Asks another server. Returns the status of its answer, and the document.
pub(super) async fn ask(
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
pub(super) async fn others<T: DeserializeOwned>(
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
