//! A server on a real socket with scripted failures. It can forward requests to a real server.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// The reaction to one request. The connection closes afterwards, unless noted.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    /// Answers with the rest of a status line and headers, and with a body.
    Answer(String, String),
    /// Answers with an empty page and keeps the connection.
    AnswerAndStay,
    /// Closes without an answer.
    Close,
    /// Sends the head and a part of the body, then closes.
    CloseHalfway,
    /// Does not answer until the client closes the connection.
    Hang,
    /// Forwards the request and returns the answer.
    Forward,
    /// Forwards the request and closes without an answer.
    ForwardAndClose,
    /// Forwards the request and answers with this status.
    ForwardAndAnswer(u16),
}

/// An answer without a body.
pub(crate) fn status(status: u16) -> Act {
    Act::Answer(format!("{status} Some\r\n"), String::new())
}

#[derive(Debug)]
pub(crate) struct FaultyServer {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Vec<String>>>,
    connections: Arc<AtomicUsize>,
    // Ends when the server is dropped.
    _serving: JoinSet<()>,
}

impl FaultyServer {
    /// Starts a server. The last act of the script also applies to all further requests; `behind` is the real server.
    pub(crate) async fn start(
        script: impl IntoIterator<Item = Act>,
        behind: Option<SocketAddr>,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let script: Arc<Mutex<VecDeque<Act>>> = Arc::new(Mutex::new(script.into_iter().collect()));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let mut serving = JoinSet::new();
        let noted = Arc::clone(&seen);
        let accepted = Arc::new(AtomicUsize::new(0));
        let connections_made = Arc::clone(&accepted);
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                accepted.fetch_add(1, Ordering::Relaxed);
                connections.spawn(serve(
                    stream,
                    Arc::clone(&script),
                    Arc::clone(&noted),
                    behind,
                ));
            }
        });
        Self {
            address,
            seen,
            connections: connections_made,
            _serving: serving,
        }
    }

    /// The heads of all requests so far.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }

    /// The number of connections so far.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    /// The methods of all requests so far.
    pub(crate) fn methods(&self) -> Vec<String> {
        let method = |head: &String| head.split(' ').next().unwrap().to_owned();
        self.heads().iter().map(method).collect()
    }
}

async fn serve(
    mut stream: TcpStream,
    script: Arc<Mutex<VecDeque<Act>>>,
    seen: Arc<Mutex<Vec<String>>>,
    behind: Option<SocketAddr>,
) {
    while serve_one(&mut stream, &script, &seen, behind).await {}
}

/// Serves a request. Returns whether the connection stays open.
async fn serve_one(
    stream: &mut TcpStream,
    script: &Mutex<VecDeque<Act>>,
    seen: &Mutex<Vec<String>>,
    behind: Option<SocketAddr>,
) -> bool {
    let Some((head, body)) = read_request(stream).await else {
        return false;
    };
    let act = {
        let mut script = script.lock().unwrap();
        if script.len() > 1 {
            script.pop_front()
        } else {
            script.front().cloned()
        }
    };
    seen.lock().unwrap().push(head.clone());
    let forwarded = async {
        let mut server = TcpStream::connect(behind.unwrap()).await.unwrap();
        let head = head.replacen("\r\n", "\r\nConnection: close\r\n", 1);
        server
            .write_all(&[head.as_bytes(), &body].concat())
            .await
            .unwrap();
        let mut answer = Vec::new();
        server.read_to_end(&mut answer).await.unwrap();
        answer
    };
    let answer = match act.unwrap() {
        Act::Answer(head, body) => {
            let length = body.len();
            format!("HTTP/1.1 {head}Connection: close\r\nContent-Length: {length}\r\n\r\n{body}")
                .into_bytes()
        }
        Act::AnswerAndStay => {
            let page = b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n{\"value\":[]}";
            return stream.write_all(page).await.is_ok();
        }
        Act::Close => Vec::new(),
        Act::CloseHalfway => {
            b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{\"value\":[".to_vec()
        }
        Act::Hang => {
            // Returns when the client closes the connection.
            let _ = stream.read(&mut [0]).await;
            Vec::new()
        }
        Act::Forward => forwarded.await,
        Act::ForwardAndClose => {
            forwarded.await;
            Vec::new()
        }
        Act::ForwardAndAnswer(status) => {
            forwarded.await;
            format!("HTTP/1.1 {status} Some\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
                .into_bytes()
        }
    };
    let _ = stream.write_all(&answer).await;
    false
}

async fn read_request(stream: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8(bytes[..end + 4].to_vec()).unwrap();
            let length = head
                .lines()
                .find_map(|line| {
                    line.to_ascii_lowercase()
                        .strip_prefix("content-length: ")?
                        .parse()
                        .ok()
                })
                .unwrap_or(0);
            if bytes.len() >= end + 4 + length {
                return Some((head, bytes[end + 4..].to_vec()));
            }
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}
