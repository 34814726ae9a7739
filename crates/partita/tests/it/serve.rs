//! Tests of `partita serve`: printed lines, refused settings, logs, and how the server stops.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use crate::process::{Server, command, command_at, read, run};
use crate::request::{Held, http_date_now};

/// Sends a request and reads the whole answer.
fn ask(address: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn start_and_end_are_printed_as_azurite_prints_them() {
    let mut server = Server::start(&["--in-memory"]);
    let (table, queue) = (server.table(), server.queue().unwrap());
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(
        server.start,
        [
            format!("starting partita {version}"),
            "Azurite Queue service is starting at http://127.0.0.1:0".to_owned(),
            "Azurite Table service is starting at http://127.0.0.1:0".to_owned(),
            format!("Azurite Queue service is successfully listening at http://{queue}"),
            format!("Azurite Table service is successfully listening at http://{table}"),
            format!(
                "partita {version} is ready: tables at http://{table}, queues at http://{queue}, data in memory only"
            ),
        ]
    );
    let string = server.line();
    assert!(
        string
            .starts_with("DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;AccountKey="),
        "{string}"
    );
    assert!(
        string.ends_with(&format!(
            ";QueueEndpoint=http://{queue}/devstoreaccount1;TableEndpoint=http://{table}/devstoreaccount1;"
        )),
        "{string}"
    );

    let closing = "Azurite Queue service is closing...\nAzurite Table service is closing...\n\
        Azurite Queue service successfully closed\nAzurite Table service successfully closed\n";
    assert_eq!(server.end("-TERM"), (0, closing.to_owned(), String::new()));
    assert!(TcpStream::connect(table).is_err() && TcpStream::connect(queue).is_err());

    let mut again = Server::start(&["--in-memory"]);
    again.line();
    assert_eq!(again.end("-INT"), (0, closing.to_owned(), String::new()));
}

#[test]
fn a_server_without_queues_does_not_mention_them() {
    let mut server = Server::start(&["--in-memory", "--queue-port", "0"]);
    assert_eq!(server.queue(), None);
    let string = server.line();
    assert!(!server.start.concat().to_ascii_lowercase().contains("queue"));
    assert!(!string.contains("QueueEndpoint"), "{string}");
    let closing =
        "Azurite Table service is closing...\nAzurite Table service successfully closed\n";
    assert_eq!(server.end("-TERM").1, closing);
}

/// A container's log contains stdout, so the key must not be printed.
#[test]
fn the_key_of_a_configured_account_is_not_printed() {
    let key = "a2V5LW9mLW9uZXMtb3du";
    let mut server = Server::start(&["--in-memory", "--accounts", &format!("own:{key}")]);
    let string = server.line();
    assert!(
        string.contains("AccountName=own;") && string.contains("partita connect"),
        "{string}"
    );
    assert!(!string.contains(key) && !server.start.concat().contains(key));
    let (_, data, talk) = server.end("-TERM");
    assert!(!data.contains(key) && !talk.contains(key), "{data}{talk}");
}

#[test]
fn a_directory_is_locked_by_one_process_and_keeps_its_data() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data").display().to_string();
    let first = Server::start(&["--location", &data]);
    assert!(
        first.ready().ends_with(&format!(", data in {data}")),
        "{:?}",
        first.start
    );
    let (code, _, talk) = run(&[
        "serve",
        "--location",
        &data,
        "--table-port",
        "0",
        "--admin-port",
        "0",
    ]);
    assert_eq!(code, 2);
    assert!(
        talk.contains("in use by another process") && talk.contains(&data),
        "{talk}"
    );
    assert_eq!(first.end("-TERM").0, 0);
    assert_eq!(Server::start(&["--data", &data]).end("-TERM").0, 0);
}

#[test]
fn a_taken_port_is_named_with_its_flag() {
    let server = Server::start(&["--in-memory"]);
    let port = server.table().rsplit_once(':').unwrap().1.to_owned();
    let (code, _, talk) = run(&[
        "serve",
        "--in-memory",
        "--admin-port",
        "0",
        "--tablePort",
        &port,
    ]);
    assert_eq!(code, 2);
    assert!(
        talk.contains(&format!(
            "cannot listen on 127.0.0.1:{port}; --table-port chooses"
        )),
        "{talk}"
    );
    let queue = server.queue().unwrap();
    let (_, port) = queue.rsplit_once(':').unwrap();
    let line = format!("serve --in-memory --table-port 0 --admin-port 0 --queuePort {port}");
    let (code, _, talk) = run(&line.split(' ').collect::<Vec<_>>());
    assert_eq!(code, 2);
    assert!(
        talk.contains(&format!(
            "cannot listen on {queue}; --queue-port chooses another port, or 0 for no queues"
        )),
        "{talk}"
    );
}

/// B18: a second server, also as `azurite-table`, starts beside another one that has the default admin port. The port
/// may be taken by any server of this machine; both servers here must start all the same.
#[test]
fn b18_a_second_server_takes_a_free_admin_port() {
    let home = tempfile::tempdir().unwrap();
    let azurite = home.path().join("azurite-table");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_partita"), &azurite).unwrap();
    let line = "--inMemoryPersistence --tablePort 0";
    let start = || {
        let mut command = command_at(&azurite);
        command
            .args(line.split(' '))
            .env_remove("PARTITA_ADMIN_PORT");
        Server::start_command(&mut command)
    };
    let (first, second) = (start(), start());
    assert_ne!(first.admin(), second.admin());
    assert!(!second.admin().ends_with(":10010"), "{}", second.admin());
    first.end("-TERM");
    let (code, _, talk) = second.end("-TERM");
    assert!(
        code == 0 && talk.contains("the admin port 10010 is in use"),
        "{talk}"
    );
    // A port that a setting chooses is not replaced.
    let server = Server::start_with_admin(&["--in-memory"]);
    let admin = server.admin();
    let (_, port) = admin.rsplit_once(':').unwrap();
    let line = format!("serve --in-memory --table-port 0 --admin-port {port}");
    let (code, _, talk) = run(&line.split(' ').collect::<Vec<_>>());
    assert!(
        code == 2 && talk.contains("--admin-port chooses another port"),
        "{talk}"
    );
}

#[test]
fn the_name_azurite_takes_azurites_command_line() {
    let home = tempfile::tempdir().unwrap();
    let link = |name: &str| {
        let path = home.path().join(name);
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_partita"), &path).unwrap();
        path
    };
    for (name, has_queues) in [
        ("azurite", true),
        ("azurite-queue", true),
        ("azurite-table", false),
    ] {
        let mut command = command_at(&link(name));
        let line =
            "--silent --inMemoryPersistence --tablePort 0 --blobPort 0 --skipApiVersionCheck";
        command.args(line.split(' ')).env("PARTITA_ADMIN_PORT", "0");
        let server = Server::start_command(&mut command);
        assert!(server.table().starts_with("127.0.0.1:"));
        assert_eq!(server.queue().is_some(), has_queues, "{name}");
        assert_eq!(server.end("-TERM").0, 0);
    }
    let mut command = command_at(&home.path().join("azurite-table"));
    let line = "--inMemoryPersistence --tablePort 0 --queuePort auto --admin-port 0";
    let server = Server::start_command(command.args(line.split(' ')));
    assert!(server.queue().is_some());
    let (code, _, talk) = read(command_at(&link("azurite-blob")).output().unwrap());
    assert_eq!(code, 2);
    assert!(talk.contains("azurite-blob is not supported"), "{talk}");
}

#[test]
fn tls_dev_prints_what_clients_need_to_trust_it() {
    let home = tempfile::tempdir().unwrap();
    let mut server = Server::start(&[
        "--tls",
        "dev",
        "--location",
        &home.path().display().to_string(),
    ]);
    assert!(
        server.ready().contains("tables at https://127.0.0.1:")
            && server.ready().contains("queues at https://127.0.0.1:"),
        "{:?}",
        server.start
    );
    assert!(server.line().contains("TableEndpoint=https://127.0.0.1:"));
    let authority = home.path().join("tls/ca.pem");
    for variable in ["NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"] {
        assert_eq!(
            server.line(),
            format!("export {variable}='{}'", authority.display())
        );
    }
    assert!(
        std::fs::read_to_string(authority)
            .unwrap()
            .starts_with("-----BEGIN CERTIFICATE-----")
    );
}

#[test]
fn the_debug_file_has_requests_and_no_secrets() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("debug.log");
    let server = Server::start(&[
        "--in-memory",
        "--silent",
        "--debug",
        &file.display().to_string(),
    ]);
    // An invalid signature: the log has the expected string to sign, but not the signature that was sent.
    let signature = "c2lnbmF0dXJlLXRoYXQtZml0cy1ub3RoaW5nLWhlcmU=";
    let request = format!(
        "GET /devstoreaccount1/Tables?comp=list&$filter=Secret%20eq%20'of-an-entity'&%24filter=of-an-entity&spk=of-an-entity HTTP/1.1\r\nHost: {}\r\nx-ms-date: {}\r\nx-ms-version: 2019-02-02\r\n\
         Authorization: SharedKey devstoreaccount1:{signature}\r\nConnection: close\r\n\r\n",
        server.table(),
        http_date_now(),
    );
    let answer = ask(&server.table(), &request);
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    assert_eq!(server.end("-TERM").2, "");
    let log = std::fs::read_to_string(&file).unwrap();
    assert!(
        log.contains("partita::request") && log.contains("403"),
        "{log}"
    );
    assert!(
        log.contains("the signature does not match the request")
            && log.contains("/devstoreaccount1/Tables"),
        "{log}"
    );
    assert!(
        !log.contains(signature)
            && !log.contains("Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2")
            && !log.contains("of-an-entity"),
        "{log}"
    );
    assert!(log.contains(r#""comp": "list""#), "{log}");
}

#[test]
fn contradicting_settings_are_refused_at_once() {
    let refused = |arguments: &[&str], wanted: &str| {
        let (code, data, talk) = run(arguments);
        assert_eq!((code, data.as_str()), (2, ""), "{arguments:?}");
        assert!(talk.contains(wanted), "{talk}");
    };
    refused(
        &["serve", "--in-memory", "--location", "x"],
        "exclude each other",
    );
    refused(
        &["serve", "--table-host", "0.0.0.0"],
        "--allow-well-known-key",
    );
    refused(&["serve", "--oauth", "basic"], "need HTTPS");
    refused(
        &["serve", "--accounts", "abc:secret!"],
        "key 1 of account abc is not base64",
    );
    refused(&["serve", "--tabelPort", "1"], "--tablePort");
    refused(&["serve", "--config", "/no/such/file"], "cannot be read");
    refused(
        &[
            "serve",
            "--cert",
            "/no/cert",
            "--key",
            "/no/key",
            "--in-memory",
            "--oauth=basic",
            "--loose=maybe",
        ],
        "maybe",
    );
}

#[test]
fn a_server_that_cannot_start_reports_the_cause() {
    let mut command = command();
    command.args([
        "serve",
        "--in-memory",
        "--table-port=0",
        "--admin-port=0",
        "--cert=/no/c.pem",
        "--key=/no/k.pem",
    ]);
    let (code, _, talk) = read(command.output().unwrap());
    assert_eq!(code, 2);
    assert_eq!(
        talk,
        "error: cannot serve HTTPS: cannot read /no/c.pem: No such file or directory (os error 2)\n"
    );
}

#[test]
fn a_request_under_way_is_answered_before_the_end() {
    let mut server = Server::start(&["--in-memory"]);
    server.line();
    let held = Held::create_table(&server.table(), "held");
    let table = server.table();
    server.signal("-TERM");
    assert_eq!(server.line(), "Azurite Queue service is closing...");
    assert_eq!(server.line(), "Azurite Table service is closing...");
    let answer = held.finish();
    assert!(answer.starts_with("HTTP/1.1 201 "), "{answer}");
    assert_eq!(
        server.wait(),
        (
            0,
            "Azurite Queue service successfully closed\nAzurite Table service successfully closed\n"
                .to_owned(),
            String::new()
        )
    );
    assert!(TcpStream::connect(table).is_err());
}

#[test]
fn a_stop_ends_after_the_drain_timeout() {
    let server = Server::start(&["--in-memory", "--drain-timeout", "50ms"]);
    let _held = Held::create_table(&server.table(), "held");
    let (code, data, talk) = server.end("-TERM");
    assert!(
        code == 0 && data.ends_with("successfully closed\n"),
        "{data}"
    );
    assert!(
        talk.contains("tasks did not end in time") && talk.contains("connection"),
        "{talk}"
    );
}

#[test]
fn a_second_signal_stops_without_waiting() {
    let mut server = Server::start(&["--in-memory", "--drain-timeout", "60m"]);
    server.line();
    let _held = Held::create_table(&server.table(), "held");
    server.signal("-TERM");
    assert_eq!(server.line(), "Azurite Queue service is closing...");
    assert_eq!(server.line(), "Azurite Table service is closing...");
    let (code, data, talk) = server.end("-INT");
    assert_eq!((code, data.as_str()), (2, ""));
    assert!(talk.contains("stopped by a second signal"), "{talk}");
}

#[test]
fn a_server_with_a_closed_stdout_serves_and_ends_without_error() {
    let mut server = Server::start(&["--in-memory"]);
    let table = server.table();
    server.stop_listening();
    let held = Held::create_table(&table, "held");
    server.signal("-TERM");
    assert!(held.finish().starts_with("HTTP/1.1 201 "));
    assert_eq!(server.wait(), (0, String::new(), String::new()));
}
