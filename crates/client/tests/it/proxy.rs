//! Requests through a forwarding proxy to a real server.

use crate::credentials::{started_with_tls, untrusted_authority};
use crate::server;
use partita_client::{
    ClientOptions, Entity, Error, ErrorKind, Outcome, Proxy, RetryPolicy, TableClient,
    TableServiceClient,
};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// The behaviour of the proxy.
#[derive(Clone, Copy)]
enum Behaviour {
    Forwards,
    /// Requires the name `miles` and the password `keiko`.
    Authenticates,
    Refuses,
    /// Reads the request and closes the connection.
    Closes,
}

/// A forwarding proxy. It forwards requests for any host to the server.
struct ForwardingProxy {
    address: SocketAddr,
    /// The request lines, except requests inside tunnels.
    seen: Arc<Mutex<Vec<String>>>,
    _serving: JoinSet<()>,
}

const MILES: &str = "proxy-authorization: basic bwlszxm6a2vpa28=";

impl ForwardingProxy {
    async fn before(server: SocketAddr, behaviour: Behaviour) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let seeing = Arc::clone(&seen);
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (client, _) = listener.accept().await.unwrap();
                let seen = Arc::clone(&seeing);
                // A disconnected client does not affect the proxy.
                connections.spawn(async move {
                    let _ = forward(client, server, behaviour, &seen).await;
                });
            }
        });
        Self {
            address,
            seen,
            _serving: serving,
        }
    }

    fn options(&self, name: &str) -> ClientOptions {
        let proxy = format!("http://{name}{}", self.address);
        ClientOptions {
            proxy: proxy.parse().unwrap(),
            retry: RetryPolicy::None,
            ..ClientOptions::default()
        }
    }

    fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

/// Serves one connection: a tunnel, or one request with an absolute URL.
async fn forward(
    mut client: TcpStream,
    server: SocketAddr,
    behaviour: Behaviour,
    seen: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    let mut taken = Vec::new();
    let end = loop {
        if let Some(end) = taken.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
        if client.read_buf(&mut taken).await? == 0 {
            return Ok(());
        }
    };
    let head = String::from_utf8(taken[..end].to_vec()).unwrap();
    let (first, fields) = head.split_once("\r\n").unwrap();
    seen.lock().unwrap().push(first.to_owned());
    let is_authenticated = fields.to_ascii_lowercase().contains(MILES);
    let refusal = match behaviour {
        Behaviour::Authenticates if !is_authenticated => Some("407 Proxy Authentication Required"),
        Behaviour::Refuses => Some("403 Forbidden"),
        Behaviour::Closes => return Ok(()),
        _ => None,
    };
    if let Some(status) = refusal {
        let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        return client.write_all(answer.as_bytes()).await;
    }
    let mut upstream = TcpStream::connect(server).await?;
    let words: Vec<&str> = first.split(' ').collect();
    if words[0] == "CONNECT" {
        client.write_all(b"HTTP/1.1 200 Connected\r\n\r\n").await?;
    } else {
        let (_, rest) = words[1].split_once("://").expect("a whole URL");
        let path = rest.find('/').map_or("/", |at| &rest[at..]);
        let own = |line: &&str| line.to_ascii_lowercase().starts_with("proxy-");
        let kept: Vec<&str> = fields.split("\r\n").filter(|line| !own(line)).collect();
        let head = format!(
            "{} {path} HTTP/1.1\r\nConnection: close\r\n{}",
            words[0],
            kept.join("\r\n")
        );
        upstream.write_all(head.as_bytes()).await?;
        upstream.write_all(&taken[end..]).await?;
    }
    tokio::io::copy_bidirectional(&mut client, &mut upstream).await?;
    Ok(())
}

async fn round_trip(client: &TableServiceClient) -> Result<(), Error> {
    let table: TableClient = client.create_table("proxied").await?;
    let mut sent = Entity::new("p", "r");
    sent.insert("Text", "x".repeat(30_000));
    table.create_entity(&sent).await?;
    let read = table.get_entity("p", "r").await?;
    assert_eq!(read.get("Text"), sent.get("Text"));
    Ok(())
}

#[tokio::test]
async fn the_proxy_gets_absolute_urls() {
    let server = server::start(&[]).await;
    let proxy =
        ForwardingProxy::before(server.listening().table.unwrap(), Behaviour::Forwards).await;
    // This host does not exist. The proxy forwards requests for any host to the server.
    let text = server::connection_string(&server);
    let at = server.listening().table.unwrap().to_string();
    let elsewhere = text.replace(&at, "tables.invalid:10002");
    let client = TableServiceClient::from_connection_string_with(&elsewhere, proxy.options(""));
    round_trip(&client.unwrap()).await.unwrap();
    let seen = proxy.seen();
    let first = "POST http://tables.invalid:10002/devstoreaccount1/Tables HTTP/1.1";
    assert_eq!((seen.len(), seen[0].as_str()), (3, first));
    // No proxy: the environment's proxies do not apply to the local machine.
    let client = TableServiceClient::from_connection_string(&text).unwrap();
    let table = client.table_client("proxied");
    table.get_entity("p", "r").await.unwrap();
    assert_eq!(proxy.seen().len(), 3);
    server.stop().await;
}

#[tokio::test]
async fn tls_uses_a_tunnel() {
    let (_directory, server, text, pem) = started_with_tls().await;
    for behaviour in [Behaviour::Forwards, Behaviour::Authenticates] {
        let proxy = ForwardingProxy::before(server.listening().table.unwrap(), behaviour).await;
        let options = ClientOptions {
            authorities_pem: vec![pem.clone()],
            ..proxy.options("miles:keiko@")
        };
        let client = TableServiceClient::from_connection_string_with(&text, options).unwrap();
        round_trip(&client).await.unwrap();
        client.delete_table("proxied").await.unwrap();
        let connect = format!("CONNECT {} HTTP/1.1", server.listening().table.unwrap());
        assert_eq!(proxy.seen(), [connect], "one tunnel for all requests");
    }
    server.stop().await;
}

#[tokio::test]
async fn proxies_get_credentials() {
    let server = server::start(&[]).await;
    let text = server::connection_string(&server);
    let proxy =
        ForwardingProxy::before(server.listening().table.unwrap(), Behaviour::Authenticates).await;
    let with = |options| TableServiceClient::from_connection_string_with(&text, options).unwrap();
    round_trip(&with(proxy.options("miles:keiko@")))
        .await
        .unwrap();
    for wrong in ["", "miles:molly@"] {
        let error = with(proxy.options(wrong)).create_table("never").await;
        let error = error.unwrap_err();
        assert_eq!(error.status(), Some(407), "{error}");
        assert_eq!(error.outcome(), Outcome::DidNotHappen);
    }
    let secure = text.replace("http://", "https://");
    let options = ClientOptions {
        authorities_pem: vec![untrusted_authority()],
        ..proxy.options("miles:molly@")
    };
    let client = TableServiceClient::from_connection_string_with(&secure, options).unwrap();
    let error = client.create_table("never").await.unwrap_err();
    assert_eq!(
        (error.kind(), error.outcome()),
        (ErrorKind::Connect, Outcome::DidNotHappen)
    );
    let text = chain(&error);
    assert!(text.contains("authorization required"), "{text}");
    assert!(
        text.contains(&proxy.address.to_string()) && !text.contains("molly"),
        "{text}"
    );
    server.stop().await;
}

#[tokio::test]
async fn errors_name_a_proxy_that_refuses_or_is_unreachable() {
    let server = server::start(&[]).await;
    let text = server::connection_string(&server);
    let secure = text.replace("http://", "https://");
    let refusing =
        ForwardingProxy::before(server.listening().table.unwrap(), Behaviour::Refuses).await;
    let closing =
        ForwardingProxy::before(server.listening().table.unwrap(), Behaviour::Closes).await;
    let never = async |text: &str, mut options: ClientOptions| {
        options.authorities_pem = vec![untrusted_authority()];
        let client = TableServiceClient::from_connection_string_with(text, options).unwrap();
        client.create_table("never").await.unwrap_err()
    };
    let error = never(&text, refusing.options("")).await;
    assert_eq!(error.status(), Some(403), "{error}");
    let error = never(&secure, refusing.options("")).await;
    assert_eq!(
        (error.kind(), error.outcome()),
        (ErrorKind::Connect, Outcome::DidNotHappen)
    );
    assert!(
        chain(&error).contains("cannot connect through the proxy"),
        "{}",
        chain(&error)
    );
    // The proxy may have forwarded the request before it closed the connection.
    let error = never(&text, closing.options("")).await;
    assert_eq!(
        (error.kind(), error.outcome()),
        (ErrorKind::Broken, Outcome::MayHaveHappened)
    );
    let error = never(&secure, closing.options("")).await;
    assert_eq!(
        (error.kind(), error.outcome()),
        (ErrorKind::Connect, Outcome::DidNotHappen)
    );
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    for text in [&text, &secure] {
        let mut options = refusing.options("");
        options.proxy = format!("http://{address}").parse::<Proxy>().unwrap();
        let error = never(text, options).await;
        assert_eq!(error.kind(), ErrorKind::Connect);
        assert!(
            chain(&error).contains(&address.to_string()),
            "{}",
            chain(&error)
        );
    }
    server.stop().await;
}

/// An error with its causes.
fn chain(error: &Error) -> String {
    let mut text = error.to_string();
    let mut next = std::error::Error::source(error);
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}
