//! Connection strings and snippets.

use super::*;
use crate::config::tests::from_flags as settings;

const ACCOUNTS: (&str, &str) = ("accounts", "abc:a2V5MQ==:a2V5Mg==;other:a2V5Mw==");

#[test]
fn the_string_names_protocol_account_key_and_endpoint() {
    let endpoint = Endpoint::of(&settings(&[ACCOUNTS]), None).unwrap();
    assert_eq!(
        endpoint.connection_string(),
        "DefaultEndpointsProtocol=http;AccountName=abc;AccountKey=a2V5MQ==;\
         QueueEndpoint=http://127.0.0.1:10001/abc;TableEndpoint=http://127.0.0.1:10002/abc;"
    );
    let tables_only = Endpoint::of(&settings(&[ACCOUNTS, ("queue-port", "0")]), None).unwrap();
    assert!(!tables_only.connection_string().contains("QueueEndpoint"));
    let apart = [ACCOUNTS, ("queue-host", "0.0.0.0"), ("queue-port", "7")];
    let apart = Endpoint::of(&settings(&apart), None).unwrap();
    assert_eq!(apart.queue_url().unwrap(), "http://127.0.0.1:7/abc");
    let other = Endpoint::of(
        &settings(&[ACCOUNTS, ("table-host", "::"), ("table-port", "7")]),
        Some("other"),
    )
    .unwrap();
    assert_eq!(other.url(), "http://[::1]:7/other");
    assert!(Endpoint::of(&settings(&[ACCOUNTS]), Some("absent")).is_none());
    let all = Endpoint::of(&settings(&[ACCOUNTS, ("table-host", "0.0.0.0")]), None).unwrap();
    assert_eq!(all.url(), "http://127.0.0.1:10002/abc");
}

#[test]
fn only_the_emulators_key_is_public() {
    let own = Endpoint::of(&settings(&[ACCOUNTS]), None).unwrap();
    let string = own.public_connection_string();
    assert!(!string.contains("a2V5"), "{string}");
    assert!(
        string.contains(";TableEndpoint=http://127.0.0.1:10002/abc;"),
        "{string}"
    );
    let well_known = Endpoint::of(&settings(&[]), None).unwrap();
    assert_eq!(
        well_known.public_connection_string(),
        well_known.connection_string()
    );
}

#[test]
fn every_tool_gets_account_and_key() {
    let endpoint = Endpoint::of(&settings(&[ACCOUNTS]), None).unwrap();
    for (_, tool) in Tool::ALL {
        let text = snippet(tool, &endpoint);
        assert!(
            text.contains("abc") && text.contains("a2V5MQ==") && text.ends_with('\n'),
            "{text}"
        );
    }
    assert!(snippet(Tool::Js, &endpoint).contains("allowInsecureConnection: true"));
}

#[test]
fn snippets_of_every_language_trust_the_local_authority() {
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
