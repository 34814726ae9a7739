//! Strings and snippets, and the probe against real and false servers.

#![allow(clippy::disallowed_methods, reason = "asks over real sockets")]

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use super::*;
use crate::config::Layers;
use crate::serve::Server;

fn settings(flags: &[(&str, &str)]) -> Settings {
    let setting = |name: &str| {
        crate::config::ALL
            .iter()
            .find(|setting| setting.flag == name)
            .unwrap()
    };
    let layers = flags.iter().fold(Layers::new(), |layers, (name, text)| {
        layers.flag(setting(name), (*text).to_owned())
    });
    Settings::from_values(&layers.resolve().unwrap().0).unwrap()
}

const ACCOUNTS: (&str, &str) = ("accounts", "abc:a2V5MQ==:a2V5Mg==;other:a2V5Mw==");

#[test]
fn the_string_names_protocol_account_key_and_endpoint() {
    let endpoint = Endpoint::of(&settings(&[ACCOUNTS]), None).unwrap();
    assert_eq!(
        endpoint.connection_string(),
        "DefaultEndpointsProtocol=http;AccountName=abc;AccountKey=a2V5MQ==;TableEndpoint=http://127.0.0.1:10002/abc;"
    );
    let other = Endpoint::of(
        &settings(&[ACCOUNTS, ("table-host", "::"), ("table-port", "7")]),
        Some("other"),
    )
    .unwrap();
    assert_eq!(other.url(), "http://[::1]:7/other");
    assert!(Endpoint::of(&settings(&[ACCOUNTS]), Some("nobody")).is_none());
    let all = Endpoint::of(&settings(&[ACCOUNTS, ("table-host", "0.0.0.0")]), None).unwrap();
    assert_eq!(all.url(), "http://127.0.0.1:10002/abc");
}

#[test]
fn a_key_is_public_only_if_everybody_has_it() {
    let own = Endpoint::of(&settings(&[ACCOUNTS]), None).unwrap();
    let string = own.public_connection_string();
    assert!(!string.contains("a2V5"), "{string}");
    assert!(
        string.contains(";TableEndpoint=http://127.0.0.1:10002/abc;"),
        "{string}"
    );
    let everybodys = Endpoint::of(&settings(&[]), None).unwrap();
    assert_eq!(
        everybodys.public_connection_string(),
        everybodys.connection_string()
    );
}

#[test]
fn every_tool_gets_account_and_key() {
    let endpoint = Endpoint::of(&settings(&[ACCOUNTS]), None).unwrap();
    for tool in Tool::ALL {
        let text = snippet(tool, &endpoint);
        assert!(
            text.contains("abc") && text.contains("a2V5MQ==") && text.ends_with('\n'),
            "{text}"
        );
    }
    assert!(snippet(Tool::Js, &endpoint).contains("allowInsecureConnection: true"));
}

#[test]
fn the_local_authority_is_told_to_every_language() {
    let home = "/tmp/it's here";
    let endpoint = Endpoint::of(&settings(&[("tls", "dev"), ("location", home)]), None).unwrap();
    let quoted = r"'/tmp/it'\''s here/tls/ca.pem'";
    let env = snippet(Tool::Env, &endpoint);
    for variable in ["NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"] {
        assert!(
            env.contains(&format!("export {variable}={quoted}\n")),
            "{env}"
        );
    }
    assert!(
        snippet(Tool::Python, &endpoint)
            .contains(&format!("# start with REQUESTS_CA_BUNDLE={quoted}\n"))
    );
    assert!(!snippet(Tool::Js, &endpoint).contains("allowInsecureConnection"));
    assert!(
        endpoint
            .connection_string()
            .contains("TableEndpoint=https://127.0.0.1:10002/")
    );
}

#[tokio::test]
async fn a_running_server_tells_its_real_port() {
    let mut free = settings(&[("in-memory", "true"), ("table-port", "0"), ACCOUNTS]);
    free.admin.port = Some(0);
    let server = Server::start(free.clone()).await.unwrap();
    free.admin.port = server.listening().admin.map(|address| address.port());
    let answer = tokio::task::spawn_blocking(move || probe(&free))
        .await
        .unwrap();
    let expected = Answer::Status {
        version: crate::VERSION.to_owned(),
        state: "ready".to_owned(),
        table_port: Some(server.listening().table.port()),
        accounts: vec!["abc".to_owned(), "other".to_owned()],
    };
    assert_eq!(answer, expected);
    server.stop().await;
}

#[test]
fn whatever_else_listens_is_not_taken_for_a_server() {
    // Somebody else has the admin port, and talks HTTP.
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let admin_port = other.local_addr().unwrap().port().to_string();
    let answering = std::thread::spawn(move || {
        let (mut stream, _) = other.accept().unwrap();
        let _ = stream.read(&mut [0; 1024]).unwrap();
        stream
            .write_all(b"HTTP/1.1 200 OK\r\n\r\n{\"name\":\"grafana\"}")
            .unwrap();
    });
    let table = TcpListener::bind("127.0.0.1:0").unwrap();
    let table_port = table.local_addr().unwrap().port().to_string();
    let described = settings(&[("admin-port", &admin_port), ("table-port", &table_port)]);
    assert_eq!(probe(&described), Answer::Open);
    answering.join().unwrap();
    drop(table);
    assert_eq!(probe(&described), Answer::Nothing);
}
