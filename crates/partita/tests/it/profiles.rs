//! Tests of profiles: where they are kept, which of them is used, and that no key is printed unasked.

use crate::process::read;
use crate::tools::World;
use std::process::Stdio;

/// The public key of the development account.
const KEY: &str =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

/// Runs a command without a connection string in its environment.
fn run(world: &World, line: &str) -> (i32, String, String) {
    let mut command = world.command(line);
    read(
        command
            .env_remove("AZURE_STORAGE_CONNECTION_STRING")
            .output()
            .unwrap(),
    )
}

/// Adds a profile from stdin.
fn add(world: &World, name: &str, connection: &str) {
    let line = format!("profile add {name} --connection-string-stdin");
    let (code, data, talk) = world.run_on(&line, &format!("{connection}\n"));
    assert_eq!((code, data.as_str()), (0, ""), "{talk}");
    assert!(
        talk.contains(&format!("use it with --profile {name}")),
        "{talk}"
    );
}

#[test]
fn profiles_are_accounts_by_name() {
    let world = World::new();
    assert_eq!(run(&world, "profile list").0, 1);
    add(&world, "here", world.connection());
    let file = world.config().join("partita/profiles.json");
    assert!(std::fs::read_to_string(&file).unwrap().contains(KEY));

    let (code, data, talk) = run(&world, "profile list");
    assert_eq!(code, 0, "{talk}");
    let row: serde_json::Value = serde_json::from_str(&data).unwrap();
    assert_eq!(
        (&row["name"], &row["default"]),
        (&"here".into(), &false.into())
    );
    assert_eq!(row["account"], "devstoreaccount1");
    assert_eq!(row["credential"], "key");
    let table = format!("http://{}/devstoreaccount1", world.server.table());
    assert_eq!(row["table_endpoint"], table);
    for line in [
        "profile list",
        "profile show here",
        "profile show here -o table",
    ] {
        let (code, data, talk) = run(&world, line);
        assert_eq!(code, 0, "{talk}");
        assert!(!data.contains(KEY) && !talk.contains(KEY), "{line}: {data}");
        let (_, data, _) = run(&world, &format!("{line} --show-keys"));
        assert!(data.contains("Eby8vdM02xNO"), "{line}: {data}");
    }

    let (code, _, talk) = world.run_on("profile add here --connection-string-stdin", "x");
    assert!(
        code == 2 && talk.contains("--overwrite replaces it"),
        "{talk}"
    );
    let (code, _, talk) = world.run_on("profile add bad --connection-string-stdin", "x=y");
    assert!(
        code == 2 && talk.contains("profile bad cannot be used: "),
        "{talk}"
    );
    let (code, _, talk) = run(&world, "profile remove here");
    assert!(
        code == 2 && talk.contains("add --yes to remove profile here"),
        "{talk}"
    );
    assert_eq!(run(&world, "profile remove here --yes").0, 0);
    let (code, _, talk) = run(&world, "table list --profile here");
    assert!(code == 2 && talk.contains("no profile \"here\""), "{talk}");
}

#[test]
fn the_first_source_that_is_given_decides() {
    let (world, other) = (World::new(), World::new());
    world.run("table create here");
    other.run("table create there");
    add(&world, "here", world.connection());
    add(&world, "there", other.connection());
    let tables = |line: &str| run(&world, line).1;
    let (here, there) = ("{\"TableName\":\"here\"}\n", "{\"TableName\":\"there\"}\n");
    assert_eq!(tables("table list --profile here"), here);
    assert_eq!(tables("table list --profile there"), there);
    let (code, _, talk) = run(&world, "profile use there");
    assert_eq!((code, talk.as_str()), (0, "there is the default profile\n"));
    assert_eq!(tables("table list"), there);
    // The connection string of the environment comes before the default profile, PARTITA_PROFILE before both.
    assert_eq!(world.run("table list").1, here);
    let mut command = world.command("table list");
    let named = read(command.env("PARTITA_PROFILE", "there").output().unwrap());
    assert_eq!(named.1, there);
    assert_eq!(run(&world, "profile use --none").0, 0);
    let row: serde_json::Value =
        serde_json::from_str(&run(&world, "profile show there").1).unwrap();
    assert_eq!(row["default"], false);

    // Each side of a command has its own profile; queues have the profile's queue endpoint.
    let line = "copy here copied --create-table --profile here --to-profile there";
    assert_eq!(run(&world, line).0, 0);
    assert_eq!(run(&world, "table show copied --profile there").0, 0);
    assert_eq!(run(&world, "table show copied --profile here").0, 1);
    assert_eq!(run(&world, "queue create jobs --profile there").0, 0);
    assert_eq!(other.run("queue show jobs").0, 0);
    let line = "fleet run count here --profile here";
    let (code, _, talk) = run(&world, line);
    assert_eq!(code, 0, "{talk}");
}

#[test]
fn errors_name_the_profile() {
    let world = World::new();
    let wrong = world.connection().replace(KEY, "d3Jvbmc=");
    add(&world, "wrong", &wrong);
    let (code, _, talk) = run(&world, "table list --profile wrong");
    assert_eq!(code, 2);
    assert!(
        talk.starts_with("error: profile wrong (from --profile): ")
            && talk.contains("403 AuthenticationFailed")
            && talk.contains("the account name, the key or the signature is wrong"),
        "{talk}"
    );
    run(&world, "profile use wrong");
    let (_, _, talk) = run(&world, "queue list");
    assert!(
        talk.starts_with("error: profile wrong (the default in "),
        "{talk}"
    );
    // An error without a request has no account.
    let (_, _, talk) = run(&world, "scan t --filter ( --profile wrong");
    assert!(talk.starts_with("error: invalid filter"), "{talk}");
}

#[test]
fn secrets_are_read_from_files() {
    let world = World::new();
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let endpoint = format!("http://{}/devstoreaccount1", world.server.table());
    let key = file("key", &format!("{KEY}\n"));
    let line = format!(
        "profile add keyed --endpoint {endpoint} --account devstoreaccount1 --key-file {key}"
    );
    assert_eq!(run(&world, &line).0, 0);
    assert_eq!(run(&world, "table create people --profile keyed").0, 0);
    let (code, _, talk) = run(&world, "queue list --profile keyed");
    assert!(
        code == 2 && talk.contains("it has no queue endpoint"),
        "{talk}"
    );

    let (_, sas, _) = world.run("sas table people --permissions r --expiry 1h");
    let sas = file("sas", &sas);
    let line = format!("profile add reader --endpoint {endpoint} --sas-file {sas}");
    assert_eq!(run(&world, &line).0, 0);
    assert_eq!(run(&world, "count people --profile reader").0, 1);
    let (code, _, talk) = run(&world, "entity insert people a 1 --profile reader");
    assert!(
        code == 2 && talk.contains("AuthorizationPermissionMismatch"),
        "{talk}"
    );
    let (code, _, talk) = run(
        &world,
        "sas table people --permissions r --expiry 1h --profile reader",
    );
    assert!(
        code == 2 && talk.contains("made with the account key"),
        "{talk}"
    );

    for (text, expected) in [("", "is empty"), ("a\nb", "more than one line")] {
        let path = file("bad", text);
        let line = format!("profile add bad --account acct --key-file {path}");
        let (code, _, talk) = run(&world, &line);
        assert!(code == 2 && talk.contains(expected), "{talk}");
    }
    let (code, _, talk) = run(
        &world,
        "profile add bad --account acct --key-file /none/such",
    );
    assert!(
        code == 2 && talk.contains("cannot read /none/such"),
        "{talk}"
    );
}

#[cfg(unix)]
#[test]
fn a_file_that_others_can_read_is_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::new();
    add(&world, "here", world.connection());
    let file = world.config().join("partita/profiles.json");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    for line in ["profile list", "table list --profile here", "table list"] {
        let (code, data, talk) = run(&world, line);
        assert_eq!((code, data.as_str()), (2, ""), "{line}");
        assert!(talk.contains("(mode 644): `chmod 600 "), "{talk}");
    }
}

#[test]
fn the_server_does_not_take_the_variable_for_a_setting() {
    let world = World::new();
    let mut command = world.command("config show -o json");
    let output = command
        .env("PARTITA_PROFILE", "x")
        .stdin(Stdio::null())
        .output();
    let (code, _, talk) = read(output.unwrap());
    assert_eq!((code, talk.as_str()), (0, ""));
}
