//! `partita servers`: the servers of a cluster.

use crate::prelude::*;
use partita_tools::admin::AdminPort;
use partita_wire::admin::{ClusterInfo, ClusterServer};

/// List the servers of the cluster: ranges, roles, addresses, versions
#[derive(clap::Args)]
pub(crate) struct ServersCommand {
    #[command(flatten)]
    output: OutputArgs,
}

impl AdminPortCommand for ServersCommand {
    async fn run(self, port: AdminPort, progress: Progress) -> CommandResult {
        let page = port.status().await?;
        let Some(cluster) = page.document.cluster else {
            message("the server is alone: it is not a member of a cluster");
            return progress.finish("no cluster", Outcome::of_count(0));
        };
        let text = serde_json::to_string_pretty(&cluster).unwrap_or_default();
        self.output.write_document(&text, Shape::Rows, |output| {
            let mut servers = cluster.servers.iter();
            servers.try_for_each(|server| write_server(server, &cluster, output))
        })?;
        if !self.output.is_json() {
            notes(&cluster).iter().for_each(|note| message(note));
        }
        progress.finish_count(cluster.servers.len() as u64, "server", "servers")
    }
}

fn write_server(
    server: &ClusterServer,
    cluster: &ClusterInfo,
    output: &mut Output,
) -> Result<(), CommandError> {
    let address = server.address.clone().unwrap_or_default();
    let roles = roles(server, cluster);
    let health = server.health.as_ref();
    let state = health.map_or("", |health| health.state.as_str());
    let requests = health.and_then(|health| health.requests_per_second);
    output.record(&[
        ("server", Field::text(&server.name)),
        ("ranges", Field::count(server.ranges.unwrap_or_default())),
        ("roles", Field::text(&roles)),
        ("state", Field::text(state)),
        (
            "requests_per_second",
            Field::Rate(requests.unwrap_or_default()),
        ),
        ("address", Field::text(&address)),
        ("version", Field::text(&server.version)),
        ("supports", Field::text(&supports(server))),
        ("life", Field::text(&server.life)),
    ])
}

/// The cluster versions that a server supports.
fn supports(server: &ClusterServer) -> String {
    match server.cluster_versions {
        Some([oldest, newest]) if oldest == newest => newest.to_string(),
        Some([oldest, newest]) => format!("{oldest} to {newest}"),
        None => String::new(),
    }
}

/// What a server does, unless `--roles` says otherwise.
const ROLES: [&str; 3] = ["front", "ranges", "manager"];

/// Whether the server is the manager or draining, and which roles it does not have.
fn roles(server: &ClusterServer, cluster: &ClusterInfo) -> String {
    let is_manager = cluster.manager.as_ref() == Some(&server.name);
    let roles = [
        is_manager.then_some("manager"),
        (server.draining == Some(true)).then_some("draining"),
    ];
    let lacks = |role: &&str| {
        let roles = server.roles.as_ref();
        roles.is_some_and(|roles| !roles.iter().any(|known| known == role))
    };
    let lacking = ROLES.into_iter().filter(lacks);
    let lacking = lacking.map(|role| format!("no {role}"));
    let roles = roles.into_iter().flatten().map(str::to_owned);
    roles.chain(lacking).collect::<Vec<_>>().join(", ")
}

fn notes(cluster: &ClusterInfo) -> Vec<String> {
    let manager = cluster.manager.is_none();
    let manager = manager.then(|| "the cluster has no manager now".to_owned());
    let unserved = cluster.unserved.filter(|unserved| *unserved > 0);
    let unserved = unserved.map(|unserved| {
        let ranges = many(unserved, "range is", "ranges are");
        format!("{ranges} served by no server now: requests for their keys wait")
    });
    let silent = cluster.silent.as_ref();
    let silent = silent.map(|silent| format!("no answer from {}", silent.join(", ")));
    let notes = [manager, unserved, silent, version(cluster)];
    notes.into_iter().flatten().collect()
}

/// The cluster version, and whether another one can replace it.
fn version(cluster: &ClusterInfo) -> Option<String> {
    let active = cluster.active_version?;
    Some(match cluster.finalizable {
        Some(next) => format!(
            "the cluster has version {active}; all servers support version {next}: `partita admin finalize` ends the upgrade"
        ),
        None => format!("the cluster has version {active}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_said() {
        let server = ClusterServer {
            name: "a".into(),
            draining: Some(true),
            ..ClusterServer::default()
        };
        let mut cluster = ClusterInfo {
            unserved: Some(1),
            servers: vec![server.clone()],
            ..ClusterInfo::default()
        };
        assert_eq!(roles(&server, &cluster), "draining");
        assert_eq!(
            notes(&cluster),
            [
                "the cluster has no manager now",
                "1 range is served by no server now: requests for their keys wait"
            ]
        );
        cluster.manager = Some("a".into());
        cluster.unserved = Some(0);
        assert_eq!(roles(&server, &cluster), "manager, draining");
        let roles_of = |roles: &[&str]| ClusterServer {
            roles: Some(roles.iter().map(|&role| role.to_owned()).collect()),
            ..ClusterServer::default()
        };
        assert_eq!(roles(&roles_of(&ROLES), &cluster), "");
        assert_eq!(
            roles(&roles_of(&["ranges"]), &cluster),
            "no front, no manager"
        );
        assert!(notes(&cluster).is_empty());
    }

    #[test]
    fn the_version_and_the_next_one_are_said() {
        let mut cluster = ClusterInfo {
            manager: Some("a".into()),
            active_version: Some(1),
            ..ClusterInfo::default()
        };
        assert_eq!(notes(&cluster), ["the cluster has version 1"]);
        cluster.finalizable = Some(2);
        assert_eq!(
            notes(&cluster),
            [
                "the cluster has version 1; all servers support version 2: `partita admin finalize` ends the upgrade"
            ]
        );
        let mut server = ClusterServer::default();
        assert_eq!(supports(&server), "");
        server.cluster_versions = Some([1, 1]);
        assert_eq!(supports(&server), "1");
        server.cluster_versions = Some([1, 2]);
        assert_eq!(supports(&server), "1 to 2");
    }
}
