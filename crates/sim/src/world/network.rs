//! Implements the network traits of `rt::net` on turmoil's simulated network.

use std::io;
use std::net::SocketAddr;

use partita_rt::net::{Answer, Listener, Network, Stream, simulated};
use turmoil::net::{TcpListener, TcpStream};

/// The network of the host that is running.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SimulatedNetwork;

struct SimulatedListener(TcpListener);

impl Network for SimulatedNetwork {
    fn listen<'a>(&'a self, host: &'a str, port: u16) -> Answer<'a, Box<dyn Listener>> {
        Box::pin(async move {
            let listener = TcpListener::bind((host, port)).await?;
            Ok(Box::new(SimulatedListener(listener)) as Box<dyn Listener>)
        })
    }

    fn connect<'a>(&'a self, host: &'a str, port: u16) -> Answer<'a, Stream> {
        Box::pin(async move { Ok(simulated(TcpStream::connect((host, port)).await?)) })
    }
}

impl Listener for SimulatedListener {
    fn address(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }

    fn accept(&self) -> Answer<'_, (Stream, SocketAddr)> {
        Box::pin(async move {
            let (stream, peer) = self.0.accept().await?;
            Ok((simulated(stream), peer))
        })
    }
}
