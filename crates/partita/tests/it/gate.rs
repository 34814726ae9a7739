//! A proxy in front of a server. It passes the first n requests, and holds back all others until it is opened. So a
//! test can stop a client at a known request, without a clock.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};

/// Numbers of requests.
#[derive(Default)]
struct Count {
    /// Requests that may pass.
    may_pass: usize,
    /// Requests that have arrived.
    came: usize,
}

#[derive(Default)]
struct Shared {
    count: Mutex<Count>,
    changed: Condvar,
}

/// The proxy. Its threads end with their connections, or with the test.
pub(crate) struct Gate {
    address: String,
    shared: Arc<Shared>,
}

impl Gate {
    /// Lets `may_pass` requests pass to the server at that `host:port`.
    pub(crate) fn before(server: &str, may_pass: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let shared = Arc::new(Shared::default());
        shared.count.lock().unwrap().may_pass = may_pass;
        let (server, counted) = (server.to_owned(), Arc::clone(&shared));
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let (client, server) = (client.unwrap(), TcpStream::connect(&server).unwrap());
                let (from_server, to_client) =
                    (server.try_clone().unwrap(), client.try_clone().unwrap());
                let counted = Arc::clone(&counted);
                std::thread::spawn(move || forward(client, server, |bytes| counted.pass(bytes)));
                std::thread::spawn(move || forward(from_server, to_client, |_| {}));
            }
        });
        Self { address, shared }
    }

    /// `host:port` of the proxy.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Waits until a request is held back.
    pub(crate) fn wait(&self) {
        let count = self.shared.count.lock().unwrap();
        let is_open = |count: &mut Count| count.came <= count.may_pass;
        drop(self.shared.changed.wait_while(count, is_open).unwrap());
    }

    /// Lets all requests pass from now on.
    pub(crate) fn open(&self) {
        self.shared.count.lock().unwrap().may_pass = usize::MAX;
        self.shared.changed.notify_all();
    }
}

impl Shared {
    /// Waits if these bytes begin a request that is to be held back.
    fn pass(&self, bytes: &[u8]) {
        let methods: [&[u8]; 6] = [b"GET ", b"POST ", b"PUT ", b"MERGE ", b"PATCH ", b"DELETE "];
        if !methods.iter().any(|method| bytes.starts_with(method)) {
            return;
        }
        let mut count = self.count.lock().unwrap();
        count.came += 1;
        let number = count.came;
        self.changed.notify_all();
        let is_closed = |count: &mut Count| number > count.may_pass;
        drop(self.changed.wait_while(count, is_closed).unwrap());
    }
}

fn forward(mut from: TcpStream, mut to: TcpStream, mut pass: impl FnMut(&[u8])) {
    let mut buffer = vec![0; 64 * 1024];
    // A killed client breaks its connection, which is expected.
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        pass(&buffer[..read]);
        if to.write_all(&buffer[..read]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}
