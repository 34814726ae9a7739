// A proxy that loses answers, for tests, which include this file as a module.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// A proxy in front of a server. All bytes that one read from the server returns count as one answer. The proxy drops
/// the answers, numbered from 0, for which `is_lost` is true, and closes their connections. Counts the dropped answers
/// in `lost`.
pub(crate) async fn lossy(
    server: SocketAddr,
    listener: TcpListener,
    is_lost: impl Fn(usize) -> bool + Clone + Send + Sync + 'static,
    lost: Arc<AtomicUsize>,
) {
    let answers = Arc::new(AtomicUsize::new(0));
    let mut connections = JoinSet::new();
    loop {
        let (client, _) = listener.accept().await.unwrap();
        let (answers, lost) = (Arc::clone(&answers), Arc::clone(&lost));
        let is_lost = is_lost.clone();
        connections.spawn(async move {
            let server = TcpStream::connect(server).await.unwrap();
            let (mut from_client, mut to_client) = client.into_split();
            let (mut from_server, mut to_server) = server.into_split();
            let forward = tokio::io::copy(&mut from_client, &mut to_server);
            let back = async {
                let mut buffer = vec![0; 64 * 1024];
                loop {
                    let read = from_server.read(&mut buffer).await?;
                    if read == 0 {
                        return Ok::<(), std::io::Error>(());
                    }
                    if is_lost(answers.fetch_add(1, Ordering::SeqCst)) {
                        lost.fetch_add(1, Ordering::SeqCst);
                        return Ok(());
                    }
                    to_client.write_all(&buffer[..read]).await?;
                }
            };
            // The end of one direction closes the whole connection.
            tokio::select! {
                _ = forward => {}
                _ = back => {}
            }
        });
    }
}
