//! The cluster of a server, from the settings that belong together.

use std::net::IpAddr;
use std::path::PathBuf;

use partita_coordinator::{EtcdConfig, Role};
use partita_peer::ServerName;

use super::parts::{ClusterSettings, Place, Settings};
use super::readers::{conflict, host, port, time};
use super::values::{Source, Values};
use super::{Error, catalog as c};

impl Settings {
    /// Whether the server has ports for clients.
    #[must_use]
    pub fn is_front(&self) -> bool {
        let cluster = self.cluster.as_ref();
        cluster.is_none_or(|cluster| cluster.roles.contains(&Role::Front))
    }
}

/// The cluster; `None` without `--coordinator`. The user and the TLS files of etcd come from `variable`.
pub(super) fn cluster(
    values: &Values,
    place: &Place,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Option<ClusterSettings>, Error> {
    let coordinator = values.of(&c::COORDINATOR);
    if coordinator.text.is_empty() {
        return alone(values);
    }
    if !matches!(place, Place::ObjectStore(_)) {
        let source = &coordinator.source;
        return conflict(format!(
            "--coordinator (from {source}) needs --store: the servers of a cluster share an object store. \
             file:///DIR is one for the servers of one machine"
        ));
    }
    let etcd = EtcdConfig::parse(&coordinator.text, &variable);
    let key = &values.of(&c::CLUSTER_KEY).text;
    if key.is_empty() {
        return conflict(
            "--coordinator needs --cluster-key: create one with `partita cluster key -o cluster.key`, and copy it to \
             every server",
        );
    }
    let peer_host = host(values, &c::PEER_HOST)?;
    let optional = |setting| Some(&values.of(setting).text).filter(|text| !text.is_empty());
    Ok(Some(ClusterSettings {
        etcd: etcd.map_err(|error| coordinator.invalid(error.to_string()))?,
        key: PathBuf::from(key),
        name: match optional(&c::SERVER_NAME) {
            Some(name) => Some(values.read(
                &c::SERVER_NAME,
                "1 to 255 letters, digits and . : - _ [ ], such as HOST:PORT",
                |_| ServerName::new(name).ok(),
            )?),
            None => None,
        },
        advertise: advertise(values, &peer_host)?,
        peer_host,
        peer_port: port(values, &c::PEER_PORT)?,
        roles: roles(values)?,
        lease: time(values, &c::LEASE)?,
        finalize_after: time(values, &c::FINALIZE_AFTER)?,
        state_dir: optional(&c::STATE_DIR).map(PathBuf::from),
        state_home: state_home(variable),
    }))
}

fn roles(values: &Values) -> Result<Vec<Role>, Error> {
    let names = values.list(&c::ROLES);
    let roles = names.iter().map(|name| Role::of_name(name));
    let roles = roles.collect::<Option<Vec<_>>>();
    let invalid = || {
        let value = values.of(&c::ROLES);
        value.invalid("expected one or more of front, ranges, manager".to_owned())
    };
    roles.filter(|roles| !roles.is_empty()).ok_or_else(invalid)
}

/// By the XDG base directory specification; without a home, in the working directory.
fn state_home(variable: impl Fn(&str) -> Option<String>) -> PathBuf {
    let of_home = || Some(PathBuf::from(variable("HOME")?).join(".local/state"));
    let home = variable("XDG_STATE_HOME")
        .map(PathBuf::from)
        .or_else(of_home);
    home.map_or_else(
        || PathBuf::from("partita-state"),
        |home| home.join("partita"),
    )
}

/// The host at which other servers reach this one.
fn advertise(values: &Values, peer_host: &str) -> Result<String, Error> {
    if !values.of(&c::ADVERTISE).text.is_empty() {
        return host(values, &c::ADVERTISE);
    }
    let is_any = |address: IpAddr| address.is_unspecified();
    if peer_host.parse().is_ok_and(is_any) {
        return conflict(format!(
            "--peer-host {peer_host} needs --advertise: the host at which the other servers reach this one"
        ));
    }
    Ok(peer_host.to_owned())
}

/// A server without a cluster has no setting of one.
fn alone(values: &Values) -> Result<Option<ClusterSettings>, Error> {
    for setting in [
        &c::CLUSTER_KEY,
        &c::SERVER_NAME,
        &c::PEER_HOST,
        &c::PEER_PORT,
        &c::ADVERTISE,
        &c::ROLES,
        &c::LEASE,
        &c::FINALIZE_AFTER,
        &c::STATE_DIR,
    ] {
        let value = values.of(setting);
        if value.source != Source::Default {
            let (flag, source) = (setting.flag, &value.source);
            return conflict(format!("--{flag} (from {source}) needs --coordinator"));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{from_flags, refused};
    use super::*;
    use std::time::Duration;

    const STORE: (&str, &str) = ("store", "file:///shared");
    const ETCD: (&str, &str) = ("coordinator", "etcd://h1:2379,h2");
    const KEY: (&str, &str) = ("cluster-key", "cluster.key");

    #[test]
    fn a_cluster_has_a_store_a_coordinator_and_a_key() {
        let settings = from_flags(&[STORE, ETCD, KEY, ("advertise", "10.0.0.7")]);
        let cluster = settings.cluster.unwrap();
        assert_eq!(cluster.etcd.endpoints.len(), 2);
        assert_eq!(cluster.advertise, "10.0.0.7");
        assert_eq!(
            (cluster.peer_host.as_str(), cluster.peer_port),
            ("127.0.0.1", 10011)
        );
        assert_eq!(cluster.roles, Role::ALL);
        assert_eq!(
            (cluster.name, cluster.lease),
            (None, Duration::from_secs(2))
        );
    }

    #[test]
    fn a_server_may_have_few_roles() {
        let of = |roles| {
            let settings = from_flags(&[STORE, ETCD, KEY, ("roles", roles)]);
            settings.cluster.unwrap().roles
        };
        assert_eq!(of("ranges"), [Role::Ranges]);
        assert_eq!(of("front, manager"), [Role::Front, Role::Manager]);
    }

    #[test]
    fn states_are_in_the_home_of_the_user() {
        let home = |variables: &'static [(&str, &str)]| {
            state_home(move |name| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            })
        };
        assert_eq!(home(&[]), PathBuf::from("partita-state"));
        let of_home = PathBuf::from("/home/a/.local/state/partita");
        assert_eq!(home(&[("HOME", "/home/a")]), of_home);
        let both = home(&[("HOME", "/home/a"), ("XDG_STATE_HOME", "/state")]);
        assert_eq!(both, PathBuf::from("/state/partita"));
    }

    #[test]
    fn what_a_cluster_lacks_is_named() {
        for (flags, expected) in [
            (
                vec![ETCD, KEY],
                "--coordinator (from flag --coordinator) needs --store",
            ),
            (vec![STORE, ETCD], "--coordinator needs --cluster-key"),
            (
                vec![STORE, KEY],
                "--cluster-key (from flag --cluster-key) needs --coordinator",
            ),
            (
                vec![STORE, KEY, ("coordinator", "h1:2379")],
                "not a valid coordinator",
            ),
            (
                vec![STORE, ETCD, KEY, ("peer-host", "0.0.0.0")],
                "--peer-host 0.0.0.0 needs --advertise",
            ),
            (
                vec![STORE, ETCD, KEY, ("server-name", "a b")],
                "cluster.server-name",
            ),
            (
                vec![STORE, ETCD, KEY, ("roles", "front,rows")],
                "expected one or more of front, ranges, manager",
            ),
            (
                vec![STORE, ("roles", "front")],
                "--roles (from flag --roles) needs --coordinator",
            ),
        ] {
            let text = refused(&flags);
            assert!(text.contains(expected), "{text}");
        }
    }
}
