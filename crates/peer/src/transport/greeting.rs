//! The first bytes that a server sends inside of TLS: which protocol it speaks.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// The version of framing and messages.
pub(super) const VERSION: u8 = 1;

const MAGIC: [u8; 7] = *b"partita";

/// What a server said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Greeting {
    /// The version that this process speaks.
    Same,
    /// Another version.
    Version(u8),
    /// Something else: not a peer port.
    Other,
}

/// Greets a verified client.
pub(super) async fn greet(stream: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
    let [a, b, c, d, e, f, g] = MAGIC;
    stream.write_all(&[a, b, c, d, e, f, g, VERSION]).await?;
    stream.flush().await
}

/// Waits for the greeting.
pub(super) async fn read_greeting(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Greeting> {
    let mut bytes = [0; MAGIC.len() + 1];
    stream.read_exact(&mut bytes).await?;
    let (magic, version) = bytes.split_at(MAGIC.len());
    Ok(match version {
        [VERSION] if magic == MAGIC => Greeting::Same,
        [version] if magic == MAGIC => Greeting::Version(*version),
        _ => Greeting::Other,
    })
}
