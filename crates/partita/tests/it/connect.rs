//! Tests of `partita connect`: its output, and its check that the printed endpoint works.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use crate::process::{Server, run};

/// The port of `host:port`, or of a URL without a path.
fn port(authority: &str) -> &str {
    authority.rsplit_once(':').unwrap().1
}

fn assert_begins(text: &str, start: &str) {
    assert!(text.starts_with(start), "{text}");
}

#[test]
fn connect_prints_settings_on_stdout_and_the_answer_on_stderr() {
    let server = Server::start(&["--in-memory"]);
    let table = server.table();
    let port = table.rsplit_once(':').unwrap().1;
    let connect = |arguments: &[&str]| {
        let mut all = vec!["connect", "--table-port", port, "--admin-port", "0"];
        all.extend(arguments);
        run(&all)
    };
    let (code, data, talk) = connect(&["env"]);
    assert_eq!(code, 0);
    assert!(
        data.starts_with("export AZURE_STORAGE_CONNECTION_STRING='DefaultEndpointsProtocol=http;"),
        "{data}"
    );
    assert!(
        data.contains(&format!("TableEndpoint=http://{table}/devstoreaccount1;'")),
        "{data}"
    );
    let undescribed = "no admin port reports its status";
    let found =
        format!("a table service answers at http://{table}/devstoreaccount1; {undescribed}");
    assert!(talk.starts_with(&found), "{talk}");
    for tool in ["python", "js", "dotnet", "az", "rclone", "string"] {
        let (code, data, _) = connect(&[tool]);
        assert!(
            code == 0 && data.contains("devstoreaccount1"),
            "{tool}: {data}"
        );
    }
    assert_eq!(connect(&["string", "--account", "unknown"]).0, 2);
    server.end("-TERM");
    let (code, data, talk) = connect(&["string"]);
    assert!(
        code == 1 && data.contains("AccountKey=") && talk.starts_with("no server answers at "),
        "{talk}"
    );
}

/// B1: what is printed was checked: the scheme of the endpoint.
#[test]
fn b1_connect_fails_if_the_printed_scheme_is_not_the_scheme_of_the_server() {
    let server = Server::start_with_admin(&["--in-memory"]);
    let (table, admin) = (server.table(), server.admin());
    let ports = ["--table-port", port(&table), "--admin-port", port(&admin)];
    let (code, data, stderr) =
        run(&[&["connect", "--tls", "dev"], &ports[..], &["string"]].concat());
    assert_eq!(code, 1, "{stderr}");
    assert!(data.contains("DefaultEndpointsProtocol=https;"), "{data}");
    assert_begins(
        &stderr,
        &format!("the TLS handshake with https://{table}/devstoreaccount1 failed: "),
    );
    assert!(
        stderr.contains(&format!(
            "; the running server's tables are at http://{table}"
        )),
        "{stderr}"
    );

    let (code, _, stderr) = run(&[&["connect"], &ports[..], &["string"]].concat());
    assert_eq!(code, 0, "{stderr}");
    assert!(
        stderr.starts_with("partita ")
            && stderr.contains(&format!(" answers at http://{table}/devstoreaccount1 (")),
        "{stderr}"
    );
}

#[test]
fn connect_names_the_server_of_an_admin_port_only_at_its_own_tables() {
    let (described, other) = (
        Server::start_with_admin(&["--in-memory"]),
        Server::start(&["--in-memory"]),
    );
    let (table, admin) = (other.table(), described.admin());
    let (code, _, stderr) = run(&[
        "connect",
        "--table-port",
        port(&table),
        "--admin-port",
        port(&admin),
        "string",
    ]);
    assert_eq!(code, 0, "{stderr}");
    assert_begins(
        &stderr,
        &format!("a table service answers at http://{table}/devstoreaccount1; "),
    );
}

#[test]
fn connect_takes_the_port_of_the_running_server_where_none_is_chosen() {
    let server = Server::start_with_admin(&["--in-memory"]);
    let admin = server.admin();
    let line = ["connect", "--admin-port", port(&admin), "string"];
    let (code, data, stderr) = run(&line);
    assert_eq!(code, 0, "{stderr}");
    let endpoints = format!(
        "QueueEndpoint=http://{}/devstoreaccount1;TableEndpoint=http://{}/devstoreaccount1;",
        server.queue().unwrap(),
        server.table()
    );
    assert!(data.contains(&endpoints), "{data}");
}

/// B1: another service at the port is not called a server.
#[test]
fn b1_connect_fails_if_the_endpoint_is_not_a_table_service() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let answering = std::thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        let mut request = [0; 8192];
        let read = connection.read(&mut request).unwrap();
        assert!(request[..read].starts_with(b"GET /devstoreaccount1/Tables"));
        connection
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello")
            .unwrap();
    });
    let (code, data, stderr) = run(&[
        "connect",
        "--table-port",
        port(&address),
        "--admin-port",
        "0",
        "string",
    ]);
    answering.join().unwrap();
    assert_eq!(code, 1, "{stderr}");
    assert!(data.contains("AccountKey="), "{data}");
    assert_begins(
        &stderr,
        &format!("no table service at http://{address}/devstoreaccount1: "),
    );
}

/// B17: each failed connection names its cause and what to change.
#[test]
fn b17_failed_connections_name_cause_and_remedy() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data").display().to_string();
    let plain = Server::start(&["--in-memory"]);
    let tls = Server::start(&["--data", &data, "--tls", "dev"]);
    let (plain_table, tls_table) = (plain.table(), tls.table());
    let list = |scheme: &str, table: &str, more: &[&str]| {
        let endpoint = format!("{scheme}://{table}/devstoreaccount1");
        let words = [&["table", "list", "--endpoint", &endpoint], more].concat();
        let (code, _, talk) = run(&words);
        (code, talk)
    };
    for (scheme, table, more, cause, remedy) in [
        (
            "https",
            &plain_table,
            &[][..],
            format!("the server at https://{plain_table} does not speak TLS"),
            "write http:// instead of https://",
        ),
        (
            "http",
            &tls_table,
            &[][..],
            format!("the server at http://{tls_table} does not speak plain HTTP"),
            "write https:// instead of http://",
        ),
        (
            "https",
            &tls_table,
            &[][..],
            format!("the certificate authority of https://{tls_table} is not trusted"),
            "--ca FILE or SSL_CERT_FILE",
        ),
        (
            "http",
            &"127.0.0.1:1".to_owned(),
            &[][..],
            "cannot connect to http://127.0.0.1:1".to_owned(),
            "is a server running? `partita serve` starts one",
        ),
        (
            "http",
            &plain_table,
            &["--key", "a2V5"][..],
            "403 AuthenticationFailed".to_owned(),
            "the account name, the key or the signature is wrong",
        ),
    ] {
        let (code, talk) = list(scheme, table, more);
        assert!(
            code == 2 && talk.contains(&cause) && talk.contains(remedy),
            "{scheme} {table}: {talk}"
        );
    }
}
