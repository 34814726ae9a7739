//! Actions on a cluster and its servers, and moves of ranges.

use hyper::StatusCode;
use partita_cluster::FinalizeRefused;
use partita_range::RangeId;
use partita_wire::admin::{ActionDone, Finalized};

use super::answer::{Answer, Answered};
use crate::status::ServerStatus;

/// Performs an action on a server: `expel` by the manager, `drain` and `undrain` by the server itself.
pub(super) async fn act(server: &ServerStatus, name: &str, action: &str) -> Answered {
    let membership = server.membership().ok_or_else(alone)?;
    match action {
        "expel" => {
            let manager = membership.manager().ok_or_else(not_manager)?;
            manager.expel(name).await?;
        }
        "drain" | "undrain" => {
            let ranges = membership.range_server().ok_or_else(alone)?;
            let changed = ranges.set_draining(action == "drain").await;
            changed.map_err(Answer::failed)?;
        }
        _ => {
            let message = "unknown action: expected drain, undrain or expel";
            return Err(Answer::not_found("NoSuchAction", message));
        }
    }
    Answer::ok(&ActionDone { done: true })
}

/// Switches balancing `on` or `off`, if this server is the manager.
pub(super) async fn balance(server: &ServerStatus, action: &str) -> Answered {
    let on = match action {
        "on" => true,
        "off" => false,
        _ => {
            let message = "unknown action: expected on or off";
            return Err(Answer::not_found("NoSuchAction", message));
        }
    };
    let membership = server.membership().ok_or_else(alone)?;
    let manager = membership.manager().ok_or_else(not_manager)?;
    manager.set_balance(on).await?;
    Answer::ok(&ActionDone { done: true })
}

/// Performs an action on the cluster version: `finalize`, if this server is the manager.
pub(super) async fn version(server: &ServerStatus, action: &str) -> Answered {
    if action != "finalize" {
        let message = "unknown action: expected finalize";
        return Err(Answer::not_found("NoSuchAction", message));
    }
    let membership = server.membership().ok_or_else(alone)?;
    let manager = membership.manager().ok_or_else(not_manager)?;
    let version = manager.finalize().await?;
    Answer::ok(&Finalized {
        active_version: version.0,
    })
}

impl From<FinalizeRefused> for Answer {
    fn from(why: FinalizeRefused) -> Self {
        let (status, code) = match why {
            FinalizeRefused::Nothing(_) => (StatusCode::CONFLICT, "NothingToFinalize"),
            FinalizeRefused::Unable { .. } => (StatusCode::CONFLICT, "ServersUnable"),
            FinalizeRefused::Failed(_) => (StatusCode::SERVICE_UNAVAILABLE, "Failed"),
        };
        Self::refused(status, code, why.to_string())
    }
}

/// Moves a range to another server, if this one is the manager.
pub(super) async fn move_range(
    server: &ServerStatus,
    range: RangeId,
    to: Option<&str>,
) -> Answered {
    let membership = server.membership().ok_or_else(alone)?;
    let manager = membership.manager().ok_or_else(not_manager)?;
    let to = to.ok_or_else(|| Answer::invalid_body("to must name a server of the cluster"))?;
    manager.move_range(range, to).await?;
    Answer::ok(&ActionDone { done: true })
}

fn alone() -> Answer {
    let message = "the server is not a member of a cluster";
    Answer::refused(StatusCode::CONFLICT, "NotManager", message)
}

fn not_manager() -> Answer {
    let message = "this server does not manage the ranges of the cluster";
    Answer::refused(StatusCode::CONFLICT, "NotManager", message)
}
