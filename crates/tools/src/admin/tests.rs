//! Tests of the admin client against fake servers on local sockets, with and without TLS.

use super::*;
use partita_wire::admin::{HeatMetric, MergeResult};
use rustls_pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;

/// Answers one request on a connection, and returns the request.
async fn answer_once(stream: &mut (impl AsyncRead + AsyncWrite + Unpin), answer: &str) -> String {
    let mut request = Vec::new();
    while !request.ends_with(b"}") && !request.ends_with(b"\r\n\r\n") {
        let mut piece = [0; 1024];
        let length = stream.read(&mut piece).await.unwrap();
        assert!(length > 0, "the request is incomplete");
        request.extend_from_slice(&piece[..length]);
    }
    stream.write_all(answer.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    String::from_utf8(request).unwrap()
}

fn http(status: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
}

/// Sends a `merge` to a server that gives this answer, and returns the client's result.
async fn merged(answer: &str) -> Result<Page<MergeResult>, AdminError> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let port = AdminPort::new(&url, AdminOptions::default(), Arc::default()).unwrap();
    let params = RangeActionParams {
        with: Some(2),
        ..RangeActionParams::default()
    };
    let serve = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let request = answer_once(&mut stream, answer).await;
        assert!(request.starts_with("POST /admin/v1/ranges/7/merge HTTP/1.1\r\n"));
        assert!(request.contains("x-partita-admin: "), "{request}");
        assert!(request.ends_with("\r\n\r\n{\"with\":2}"), "{request}");
    };
    tokio::join!(port.range_action(7, "merge", &params), serve).0
}

#[tokio::test]
async fn answers_refusals_and_other_servers_are_distinguished() {
    let body = r#"{"into":8,"transit_ms":0.5,"later":1}"#;
    let done = merged(&http("200 OK", body)).await.unwrap();
    assert_eq!((done.document.into, &*done.text), (8, body));
    let body = r#"{"error":{"code":"NoNeighbour","message":"the last"}}"#;
    let refused = merged(&http("409 Conflict", body)).await.unwrap_err();
    assert_eq!(refused.to_string(), "NoNeighbour: the last");
    for answer in [
        http("404 Not Found", "not here"),
        http("200 OK", "{}"),
        http("200 OK", "\u{0}"),
    ] {
        let unknown = merged(&answer).await;
        assert!(
            matches!(unknown, Err(AdminError::UnknownPage(_))),
            "{answer}: {unknown:?}"
        );
    }
    for answer in ["", "220 smtp\r\n\r\n"] {
        let broken = merged(answer).await;
        assert!(
            matches!(broken, Err(AdminError::Unreachable { .. })),
            "{answer}: {broken:?}"
        );
    }
}

/// A listener on a free port, its TLS acceptor, and the certificate that a client must trust.
async fn tls_server() -> (TcpListener, TlsAcceptor, Vec<u8>) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    (listener, acceptor, made.cert.pem().into_bytes())
}

/// A client of the admin port at this listener, which trusts this authority.
fn tls_port(listener: &TcpListener, authority_pem: Vec<u8>) -> AdminPort {
    let port = listener.local_addr().unwrap().port();
    let options = AdminOptions {
        authorities_pem: vec![authority_pem],
        ..AdminOptions::default()
    };
    AdminPort::new(
        &format!("https://localhost:{port}"),
        options,
        Arc::default(),
    )
    .unwrap()
}

#[tokio::test]
async fn an_admin_port_behind_tls_is_reached() {
    let (listener, acceptor, pem) = tls_server().await;
    let port = tls_port(&listener, pem);
    let body = r#"{"snapshots":[],"unreadable":[]}"#;
    let serve = async {
        let (stream, _) = listener.accept().await.unwrap();
        let mut stream = acceptor.accept(stream).await.unwrap();
        answer_once(&mut stream, &http("200 OK", body)).await
    };
    let (page, request) = tokio::join!(port.snapshots(), serve);
    assert_eq!(page.unwrap().text, body);
    assert!(request.starts_with("GET /admin/v1/snapshots HTTP/1.1\r\n"));
}

#[tokio::test]
async fn an_untrusted_certificate_is_reported() {
    let (listener, acceptor, _) = tls_server().await;
    let (_, _, other) = tls_server().await;
    let port = tls_port(&listener, other);
    let serve = async {
        let (stream, _) = listener.accept().await.unwrap();
        acceptor.accept(stream).await.unwrap_err();
    };
    let refused = tokio::join!(port.status(), serve).0.unwrap_err();
    let AdminError::Unreachable { source, .. } = &refused else {
        panic!("{refused:?}");
    };
    assert_eq!(source.kind(), partita_client::ErrorKind::Tls);
}

#[test]
fn invalid_urls_are_refused() {
    for url in [
        "127.0.0.1:1",
        "ftp://127.0.0.1:1",
        "http://",
        "http://h:1/x",
        "http://h:1?x",
        "http://user@h:1",
        "http://h:1\r\nX: y",
    ] {
        let refused = AdminPort::new(url, AdminOptions::default(), Arc::default());
        assert!(matches!(refused, Err(AdminError::Url(_))), "{url}");
    }
    let port = AdminPort::new("http://h:1/", AdminOptions::default(), Arc::default()).unwrap();
    assert_eq!(port.to_string(), "http://h:1");
}

#[test]
fn a_heat_query_sends_its_parameters() {
    let query = HeatQuery {
        to: Some("2026-01-31T12:00:00Z".to_owned()),
        last_seconds: 3600,
        step_seconds: 60,
        metric: HeatMetric::P99Us,
        table: Some("a/b".to_owned()),
        by: HeatRows::Partitions,
        rows: 9,
    };
    assert_eq!(
        query.query_string(),
        "last=3600&step=60&rows=9&metric=p99_us&by=partition&to=2026-01-31T12%3A00%3A00Z&table=a%2Fb"
    );
}
