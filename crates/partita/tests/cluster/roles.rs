//! Servers with one role each: `--roles`.

use super::members::{Cluster, Variables, name};
use super::process::{command_on, read};
use super::{does, until_done};

const ROLES: &str = "PARTITA_ROLES";
const FRONT: Variables<'_> = &[(ROLES, "front")];
const RANGES: Variables<'_> = &[(ROLES, "ranges")];
const MANAGER: Variables<'_> = &[(ROLES, "manager")];

#[test]
fn servers_with_one_role_each_are_a_cluster() {
    let mut cluster = Cluster::new();
    let [front, ranges, manager] = [0, 1, 2];
    let why = cluster.refused(front, &[(ROLES, "front,rows")]);
    assert!(why.contains("PARTITA_ROLES"), "{why}");
    cluster.begin(front, FRONT);
    cluster.begin(ranges, RANGES);
    cluster.begin(manager, MANAGER);
    for server in [ranges, manager] {
        let ready = cluster.servers[server].as_ref().unwrap().ready();
        assert!(ready.contains("no ports for clients"), "{ready}");
    }
    let connection = cluster.connections[front].clone();
    until_done(&connection, "table create people");
    until_done(&connection, "entity insert people a r");
    cluster.split();

    // Each does what its role says, and the operator sees it.
    let seen = cluster.until(front, &["servers"], |seen| {
        seen["unserved"] == 0 && seen["servers"].as_array().is_some_and(|all| all.len() == 3)
    });
    assert_eq!(seen["manager"], *name(manager));
    let expected = [("front", 0), ("ranges", 3), ("manager", 0)];
    for (server, (role, count)) in seen["servers"].as_array().unwrap().iter().zip(expected) {
        assert_eq!(server["roles"], serde_json::json!([role]), "{seen}");
        assert_eq!(server["ranges"], count, "{seen}");
    }
    let range = cluster.until(front, &["ranges"], |_| true)["ranges"][0]["id"].to_string();
    let to_front = ["admin", "move", &range, "--to", &name(front)];
    let (code, data, talk) = cluster.ask(front, &to_front);
    assert_ne!(code, 0, "{data}");
    assert!(talk.contains("takes no ranges"), "{talk}");

    // Without a manager, the ranges are served where they are.
    drop(cluster.servers[manager].take());
    until_done(&connection, "entity insert people k r");

    // Without the server of the ranges, no other server takes them, and nothing is answered.
    drop(cluster.servers[ranges].take());
    cluster.begin(manager, MANAGER);
    cluster.until(front, &["servers"], |seen| {
        seen["unserved"] == 3 && seen["manager"] == *name(manager)
    });
    assert!(!does(&connection, "entity get people a r"));
    cluster.begin(ranges, RANGES);
    for row in ["a", "k"] {
        until_done(&connection, &format!("entity get people {row} r"));
    }
    let export = command_on(&connection, "export people -").output();
    let (code, rows, talk) = read(export.unwrap());
    assert_eq!((code, rows.lines().count()), (0, 2), "{talk}");
}
