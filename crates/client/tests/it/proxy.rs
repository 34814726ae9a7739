//! Requests by way of a forwarding proxy that runs here, to a real server behind it.

use crate::credentials::strange_authority;
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

/// What the proxy answers instead of passing a request on.
#[derive(Clone, Copy)]
enum Temper {
    Forwards,
    /// It wants the name `miles` with the password `keiko`.
    AsksWho,
    Refuses,
    /// It takes the request and hangs up.
    HangsUp,
}

/// A forwarding proxy. Whatever host is asked for, it asks the server.
struct ForwardingProxy {
    address: SocketAddr,
    /// The first lines of requests, without those after a tunnel was made.
    seen: Arc<Mutex<Vec<String>>>,
    _serving: JoinSet<()>,
}

const MILES: &str = "proxy-authorization: basic bwlszxm6a2vpa28=";

impl ForwardingProxy {
    async fn before(server: SocketAddr, temper: Temper) -> Self {
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
                // A client that goes away is no matter of the proxy's.
                connections.spawn(async move {
                    let _ = forward(client, server, temper, &seen).await;
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

/// One connection: a tunnel, or one request that has its whole URL in the first line.
async fn forward(
    mut client: TcpStream,
    server: SocketAddr,
    temper: Temper,
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
    let knows_who = fields.to_ascii_lowercase().contains(MILES);
    let refusal = match temper {
        Temper::AsksWho if !knows_who => Some("407 Proxy Authentication Required"),
        Temper::Refuses => Some("403 Forbidden"),
        Temper::HangsUp => return Ok(()),
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
async fn requests_are_handed_to_the_proxy_whole() {
    let server = server::start(&[]).await;
    let proxy = ForwardingProxy::before(server.listening().table, Temper::Forwards).await;
    // A name that nobody can resolve but the proxy.
    let text = server::connection_string(&server);
    let at = server.listening().table.to_string();
    let elsewhere = text.replace(&at, "tables.invalid:10002");
    let client = TableServiceClient::from_connection_string_with(&elsewhere, proxy.options(""));
    round_trip(&client.unwrap()).await.unwrap();
    let seen = proxy.seen();
    let first = "POST http://tables.invalid:10002/devstoreaccount1/Tables HTTP/1.1";
    assert_eq!((seen.len(), seen[0].as_str()), (3, first));
    // The same without a proxy: what the environment of the tests says is not for this machine.
    let client = TableServiceClient::from_connection_string(&text).unwrap();
    let table = client.table_client("proxied");
    table.get_entity("p", "r").await.unwrap();
    assert_eq!(proxy.seen().len(), 3);
    server.stop().await;
}

#[tokio::test]
async fn tls_goes_through_a_tunnel() {
    let directory = tempfile::tempdir().unwrap();
    let location = directory.path().to_str().unwrap();
    let flags = [
        ("tls", "dev"),
        ("in-memory", "false"),
        ("location", location),
    ];
    let server = server::start(&flags).await;
    let pem = std::fs::read(server.authority().unwrap()).unwrap();
    let text = server::connection_string(&server).replace("http://", "https://");
    for temper in [Temper::Forwards, Temper::AsksWho] {
        let proxy = ForwardingProxy::before(server.listening().table, temper).await;
        let options = ClientOptions {
            authorities_pem: vec![pem.clone()],
            ..proxy.options("miles:keiko@")
        };
        let client = TableServiceClient::from_connection_string_with(&text, options).unwrap();
        round_trip(&client).await.unwrap();
        client.delete_table("proxied").await.unwrap();
        let connect = format!("CONNECT {} HTTP/1.1", server.listening().table);
        assert_eq!(proxy.seen(), [connect], "one tunnel for all");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_proxy_that_asks_who_it_is_gets_an_answer() {
    let server = server::start(&[]).await;
    let text = server::connection_string(&server);
    let proxy = ForwardingProxy::before(server.listening().table, Temper::AsksWho).await;
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
        authorities_pem: vec![strange_authority()],
        ..proxy.options("miles:molly@")
    };
    let client = TableServiceClient::from_connection_string_with(&secure, options).unwrap();
    let error = client.create_table("never").await.unwrap_err();
    assert_eq!(
        (error.kind(), error.outcome()),
        (ErrorKind::Connect, Outcome::DidNotHappen)
    );
    let told = chain(&error);
    assert!(told.contains("authorization required"), "{told}");
    assert!(
        told.contains(&proxy.address.to_string()) && !told.contains("molly"),
        "{told}"
    );
    server.stop().await;
}

#[tokio::test]
async fn a_proxy_that_refuses_or_is_not_there_is_named() {
    let server = server::start(&[]).await;
    let text = server::connection_string(&server);
    let secure = text.replace("http://", "https://");
    let refusing = ForwardingProxy::before(server.listening().table, Temper::Refuses).await;
    let hanging_up = ForwardingProxy::before(server.listening().table, Temper::HangsUp).await;
    let never = async |text: &str, mut options: ClientOptions| {
        options.authorities_pem = vec![strange_authority()];
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
        chain(&error).contains("no way through the proxy"),
        "{}",
        chain(&error)
    );
    // Behind a proxy nobody knows how far a request came.
    let error = never(&text, hanging_up.options("")).await;
    assert_eq!(
        (error.kind(), error.outcome()),
        (ErrorKind::Broken, Outcome::MayHaveHappened)
    );
    let error = never(&secure, hanging_up.options("")).await;
    assert_eq!(
        (error.kind(), error.outcome()),
        (ErrorKind::Connect, Outcome::DidNotHappen)
    );
    let nobody = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = nobody.local_addr().unwrap();
    drop(nobody);
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
