//! Tests of `partita sas`, of stored policies, and of the settings of services.

use crate::tools::World;
use serde_json::Value;

/// A server with a table of two partitions and a queue.
fn world() -> World {
    let world = World::new();
    world.fill("people", &[("a", 2), ("b", 2)]);
    assert_eq!(world.run("queue create jobs").0, 0);
    world
}

/// The signature that a command makes.
fn signature(world: &World, line: &str) -> String {
    let (code, data, talk) = world.run(line);
    assert_eq!(code, 0, "{line}: {talk}");
    assert!(talk.starts_with("grants "), "{talk}");
    data.trim_end().to_owned()
}

/// Exit code and messages of a command with another connection string.
fn with(world: &World, connection: &str, line: &str) -> (i32, String) {
    let mut command = world.command(line);
    let output = command.env("AZURE_STORAGE_CONNECTION_STRING", connection);
    let (code, _, talk) = crate::process::read(output.output().unwrap());
    (code, talk)
}

/// Rows of JSON lines.
fn rows(data: &str) -> Vec<Value> {
    let rows = data.lines();
    rows.map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn a_table_signature_grants_its_permissions_and_keys() {
    let world = world();
    let sign = |flags: &str| {
        let line = format!("sas table people --expiry 1h --form connection-string {flags}");
        signature(&world, &line)
    };
    let reader = sign("--permissions r");
    assert_eq!(with(&world, &reader, "count people").0, 0);
    let (code, talk) = with(&world, &reader, "entity insert people a new");
    assert!(
        code == 2 && talk.contains("AuthorizationPermissionMismatch"),
        "{talk}"
    );
    let part = sign("--permissions ar --start-pk b --start-rk 00001 --end-pk b");
    assert_eq!(with(&world, &part, "entity get people b 00001").0, 0);
    assert_eq!(with(&world, &part, "entity get people b 00000").0, 2);
    assert_eq!(with(&world, &part, "entity insert people b 9").0, 0);
    assert_eq!(with(&world, &part, "entity insert people c 9").0, 2);
    let https = sign("--permissions r --https-only");
    let (code, talk) = with(&world, &https, "count people");
    assert!(
        code == 2 && talk.contains("AuthorizationProtocolMismatch"),
        "{talk}"
    );
    let elsewhere = sign("--permissions r --ip 10.0.0.1-10.0.0.9");
    let (code, talk) = with(&world, &elsewhere, "count people");
    assert!(
        code == 2 && talk.contains("AuthorizationSourceIPMismatch"),
        "{talk}"
    );
    let later = sign("--permissions r --start 30m");
    assert_eq!(with(&world, &later, "count people").0, 2);
}

#[test]
fn the_forms_are_a_query_a_url_and_a_connection_string() {
    let world = world();
    let line = "sas table people --permissions r --expiry 2030-01-31T12:00:00Z";
    let token = signature(&world, line);
    let expected = "sv=2019-02-02&sp=r&se=2030-01-31T12%3A00%3A00Z&spr=https%2Chttp&tn=people&sig=";
    assert!(token.starts_with(expected), "{token}");
    let endpoint = format!("http://{}/devstoreaccount1", world.server.table());
    let url = signature(&world, &format!("{line} --form url"));
    assert_eq!(url, format!("{endpoint}/people?{token}"));
    let string = signature(&world, &format!("{line} --form connection-string"));
    let expected = format!("TableEndpoint={endpoint};SharedAccessSignature={token}");
    assert_eq!(string, expected);

    let (code, data, _) = world.run(&format!("sas show {url}"));
    assert_eq!(code, 0);
    let row = &rows(&data)[0];
    assert_eq!(
        (&row["kind"], &row["table"]),
        (&"table".into(), &"people".into())
    );
    assert_eq!(row["permissions"], "r");
    assert_eq!(row["expiry"], "2030-01-31T12:00:00Z");
    assert_eq!(row["signature"], "not checked");
    let (code, data, _) = world.run(&format!("sas show {token} --check"));
    assert_eq!((code, &rows(&data)[0]["signature"]), (0, &"valid".into()));
    let forged = token.replace("sp=r", "sp=raud");
    let (code, data, _) = world.run(&format!("sas show {forged} --check"));
    assert_eq!((code, &rows(&data)[0]["signature"]), (1, &"invalid".into()));
    let expired = token.replace("2030", "2020");
    let (code, data, talk) = world.run(&format!("sas show {expired}"));
    assert_eq!(code, 1, "{talk}");
    assert!(data.contains("\"state\":\"expired\""), "{data}");
    let (code, data, _) = world.run_on("sas show - --check", &string);
    assert_eq!((code, &rows(&data)[0]["signature"]), (0, &"valid".into()));
}

#[test]
fn queue_and_account_signatures_work() {
    let world = world();
    let line = "sas queue jobs --permissions pa --expiry 1h --form connection-string";
    let worker = signature(&world, line);
    assert!(worker.contains("sp=ap&"), "{worker}");
    assert_eq!(with(&world, &worker, "queue put jobs x").0, 0);
    assert_eq!(with(&world, &worker, "queue peek jobs").0, 2);
    assert_eq!(with(&world, &worker, "queue get jobs --delete").0, 0);
    let url = signature(&world, &line.replace("connection-string", "url"));
    let (code, data, _) = world.run(&format!("sas show {url} --check"));
    assert_eq!(
        (code, &rows(&data)[0]["queue"]),
        (0, &"jobs".into()),
        "{data}"
    );
    let (_, token) = url.split_once('?').unwrap();
    let (code, _, talk) = world.run(&format!("sas show {token} --check"));
    assert!(code == 2 && talk.contains("add --queue NAME"), "{talk}");
    assert_eq!(
        world
            .run(&format!("sas show {token} --check --queue other"))
            .0,
        1
    );

    let line = "sas account --services tq --resource-types sco --permissions rlac --expiry 1h";
    let both = signature(&world, &format!("{line} --form connection-string"));
    assert!(
        both.contains("QueueEndpoint=") && both.contains("ss=qt&"),
        "{both}"
    );
    assert_eq!(with(&world, &both, "table list").0, 0);
    assert_eq!(with(&world, &both, "queue list").0, 0);
    assert_eq!(with(&world, &both, "table delete people --yes").0, 2);
    let urls = signature(&world, &format!("{line} --form url"));
    assert_eq!(urls.lines().count(), 2);
    let (code, _, talk) = world.run(&format!(
        "{line} --form url --endpoint http://h/devstoreaccount1"
    ));
    assert!(
        code == 2 && talk.contains("--endpoint is the URL of one service"),
        "{talk}"
    );
}

#[test]
fn terms_that_the_service_refuses_are_refused() {
    let world = World::new();
    for (line, expected) in [
        ("sas table people --permissions r", "--expiry is missing"),
        ("sas table people --expiry 1h", "--permissions"),
        (
            "sas table people --permissions rp --expiry 1h",
            "'p' is not one of r (read)",
        ),
        (
            "sas table people --permissions r --expiry 2020-01-01",
            "is in the past",
        ),
        (
            "sas table people --permissions r --start 2h --expiry 1h",
            "is not after --start",
        ),
        (
            "sas table people --permissions r --expiry soon",
            "nor a duration",
        ),
        (
            "sas table people --permissions r --expiry 1h --start-rk 1",
            "--start-pk",
        ),
        (
            "sas table people --permissions r --expiry 1h --start-pk b --end-pk a",
            "the key range is empty",
        ),
        (
            "sas table no-table --permissions r --expiry 1h",
            "not allowed",
        ),
        (
            "sas queue NoQueue --permissions r --expiry 1h",
            "not allowed",
        ),
        (
            "sas table people --permissions r --expiry 1h --ip ::1",
            "not an IPv4 address",
        ),
        (
            "sas account --resource-types x --permissions r --expiry 1h",
            "'x' is not one of s (services)",
        ),
        ("sas show sv=1", "parameter sig is missing"),
    ] {
        let (code, data, talk) = world.run(line);
        assert_eq!((code, data.as_str()), (2, ""), "{line}");
        assert!(talk.contains(expected), "{line}: {talk}");
    }
}

#[test]
fn a_stored_policy_gives_and_revokes_rights() {
    let world = world();
    for (noun, name, other, use_it) in [
        ("table", "people", "raud", "count people"),
        ("queue", "jobs", "raup", "queue peek jobs"),
    ] {
        let policy = |line: &str| world.run(&format!("{noun} policy {line}"));
        assert_eq!(policy(&format!("list {name}")).0, 1);
        let (code, _, talk) = policy(&format!("set {name} readers --permissions r --expiry 1h"));
        assert!(
            code == 0 && talk.contains("policy readers of ") && talk.contains(" added"),
            "{talk}"
        );
        let line = format!("sas {noun} {name} --policy readers --form connection-string");
        let reader = signature(&world, &line);
        let (code, talk) = with(&world, &reader, use_it);
        assert!(code < 2, "{talk}");
        let (code, _, talk) = policy(&format!(
            "set {name} all --permissions {other} --start 2026-01-01"
        ));
        assert_eq!(code, 0, "{talk}");
        let (_, data, _) = policy(&format!("list {name}"));
        let listed = rows(&data);
        assert_eq!(
            (&listed[0]["id"], &listed[0]["permissions"]),
            (&"readers".into(), &"r".into())
        );
        assert_eq!(listed[1]["start"], "2026-01-01T00:00:00Z");
        assert_eq!(listed[1]["expiry"], "");

        let (_, _, talk) = policy(&format!("set {name} readers --permissions a --expiry 1h"));
        assert!(talk.contains("replaced"), "{talk}");
        assert_eq!(with(&world, &reader, use_it).0, 2);
        let (code, _, talk) = policy(&format!("remove {name} readers"));
        assert!(
            code == 2 && talk.contains("add --yes to remove policy readers"),
            "{talk}"
        );
        assert_eq!(policy(&format!("remove {name} readers --yes")).0, 0);
        assert_eq!(policy(&format!("remove {name} readers --yes")).0, 1);
        for id in ["b", "c", "d", "e"] {
            assert_eq!(policy(&format!("set {name} {id} --permissions r")).0, 0);
        }
        let (code, _, talk) = policy(&format!("set {name} f --permissions r"));
        assert!(
            code == 2 && talk.contains("has 5 policies already"),
            "{talk}"
        );
        let (code, _, talk) = policy("list nothing");
        assert!(
            code == 2 && talk.contains("nothing does not exist"),
            "{talk}"
        );
        let signed =
            format!("sas {noun} {name} --permissions r --expiry 1h --form connection-string");
        let signed = signature(&world, &signed);
        let (code, talk) = with(&world, &signed, &format!("{noun} policy list {name}"));
        assert!(code == 2 && talk.contains("need an account key"), "{talk}");
    }
}

#[test]
fn cors_rules_and_properties_of_each_service_are_changed() {
    let world = World::new();
    for service in ["table", "queue"] {
        let run = |line: &str| world.run(&format!("service {line} --service {service}"));
        assert_eq!(run("cors list").0, 1);
        let line = "cors add --origins https://a.example,https://b.example --methods get,PUT --max-age 90s";
        let (code, _, talk) = run(line);
        assert!(
            code == 0 && talk.starts_with("rule 1 added, 2 requests"),
            "{talk}"
        );
        let line =
            "cors add --origins * --methods GET --allowed-headers x-ms-* --exposed-headers *";
        assert_eq!(run(line).0, 0);
        let (_, data, _) = run("cors list");
        let listed = rows(&data);
        assert_eq!(listed[0]["origins"], "https://a.example,https://b.example");
        assert_eq!(
            (&listed[0]["methods"], &listed[0]["max_age"]),
            (&"GET,PUT".into(), &"1m 30s".into())
        );
        assert_eq!(listed[1]["allowed_headers"], "x-ms-*");
        assert_eq!(run("cors remove 3 --yes").0, 1);
        assert_eq!(run("cors remove 1").0, 2);
        assert_eq!(run("cors remove 1 --yes").0, 0);
        assert_eq!(rows(&run("cors list").1)[0]["origins"], "*");
        for _ in 0..4 {
            assert_eq!(run("cors add --origins * --methods GET").0, 0);
        }
        let (code, _, talk) = run("cors add --origins * --methods GET");
        assert!(code == 2 && talk.contains("has 5 rules already"), "{talk}");
        assert_eq!(run("cors remove --all --yes").0, 0);
        assert_eq!(run("cors list").0, 1);
        assert_eq!(run("cors add --origins * --methods FETCH").0, 2);

        let (code, _, talk) =
            run("properties set --logging read,write --logging-days 7 --minute-metrics apis");
        assert_eq!(code, 0, "{talk}");
        let shown = rows(&run("properties show").1).remove(0);
        assert_eq!(
            (&shown["logging"], &shown["logging_days"]),
            (&"read,write".into(), &7.into())
        );
        assert_eq!(
            (&shown["hour_metrics"], &shown["minute_metrics"]),
            (&"off".into(), &"apis".into())
        );
        assert_eq!(shown["cors_rules"], 0);
        let (_, _, talk) = run("properties set --minute-metrics apis");
        assert!(talk.starts_with("nothing changed, 1 request"), "{talk}");
        assert_eq!(run("properties set").0, 2);
    }
}
