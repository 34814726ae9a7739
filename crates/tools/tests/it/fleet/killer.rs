//! Kills a worker at a numbered event: its connections break and no request succeeds any more. An event is a request
//! before or after its effect on the queue, or some bytes of a request or an answer of the table.

use partita_client::{ClientOptions, RetryPolicy, TableServiceClient};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// The events that are left before the worker is dead.
#[derive(Clone)]
pub(super) struct Killer(Arc<AtomicUsize>);

impl Killer {
    pub(super) fn after(events: usize) -> Self {
        Self(Arc::new(AtomicUsize::new(events)))
    }

    /// Counts an event. False if the worker is dead.
    pub(super) fn event(&self) -> bool {
        let less = |left: usize| left.checked_sub(1);
        let order = Ordering::SeqCst;
        self.0.fetch_update(order, order, less).is_ok()
    }

    pub(super) fn has_killed(&self) -> bool {
        self.0.load(Ordering::SeqCst) == 0
    }
}

/// A client whose connections break when its worker is dead, and the proxy that does so.
pub(super) async fn mortal_client(
    connection_string: &str,
    server: SocketAddr,
    killer: &Killer,
) -> (TableServiceClient, JoinSet<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut proxy = JoinSet::new();
    let killer = killer.clone();
    proxy.spawn(async move {
        let mut connections = JoinSet::new();
        while let Ok((client, _)) = listener.accept().await {
            let killer = killer.clone();
            connections.spawn(async move {
                let server = TcpStream::connect(server).await.unwrap();
                let (from_client, to_client) = client.into_split();
                let (from_server, to_server) = server.into_split();
                tokio::select! {
                    () = forward(from_client, to_server, &killer) => {}
                    () = forward(from_server, to_client, &killer) => {}
                }
            });
        }
    });
    let text = connection_string.replace(&server.to_string(), &address.to_string());
    let options = ClientOptions {
        retry: RetryPolicy::None,
        ..ClientOptions::default()
    };
    let client = TableServiceClient::from_connection_string_with(&text, options).unwrap();
    (client, proxy)
}

/// Forwards bytes until the connection ends or the worker is dead.
async fn forward(
    mut from: tokio::net::tcp::OwnedReadHalf,
    mut to: tokio::net::tcp::OwnedWriteHalf,
    killer: &Killer,
) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        if !killer.event() || to.write_all(&buffer[..read]).await.is_err() {
            return;
        }
    }
}
