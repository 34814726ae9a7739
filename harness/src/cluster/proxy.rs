//! A TCP proxy on each link between servers, and between each server and etcd: it delays bytes, holds them in one
//! direction or both, or drops an answer and breaks the connection.
//!
//! Held bytes are delivered when the link is healed, as TCP does after a partition.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Context;
use partita_bench::park_for;

/// What a link does to the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Behaviour {
    /// Passes them on.
    Open,
    /// Passes them on later.
    Delay(Duration),
    /// Passes on nothing.
    Cut,
    /// Passes on requests, but no answers.
    NoAnswers,
    /// Passes on answers, but no requests.
    NoRequests,
    /// Passes on requests, and breaks a connection instead of passing on an answer.
    DropAnswers,
}

/// The way of some bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Request,
    Answer,
}

/// What happens to some bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Pass(Duration),
    Hold,
    Break,
}

impl Behaviour {
    fn fate(self, way: Way) -> Fate {
        match (self, way) {
            (Self::Delay(time), _) => Fate::Pass(time),
            (Self::Cut, _) | (Self::NoAnswers, Way::Answer) | (Self::NoRequests, Way::Request) => {
                Fate::Hold
            }
            (Self::DropAnswers, Way::Answer) => Fate::Break,
            (Self::Open | Self::NoAnswers | Self::NoRequests | Self::DropAnswers, _) => {
                Fate::Pass(Duration::ZERO)
            }
        }
    }
}

/// A link to a target, or to the first of several that accepts. Its threads end with the process.
#[derive(Debug)]
pub(super) struct Link {
    behaviour: Mutex<Behaviour>,
    changed: Condvar,
}

impl Link {
    /// A link from an address to a target.
    pub(super) fn start(listen: SocketAddr, target: SocketAddr) -> anyhow::Result<Arc<Self>> {
        Self::start_to_any(listen, vec![target])
    }

    /// A balancer: each connection goes to the first target that accepts it.
    pub(super) fn start_to_any(
        listen: SocketAddr,
        targets: Vec<SocketAddr>,
    ) -> anyhow::Result<Arc<Self>> {
        let targets: Arc<[SocketAddr]> = targets.into();
        let listener =
            TcpListener::bind(listen).with_context(|| format!("listening at {listen}"))?;
        let link = Arc::new(Self {
            behaviour: Mutex::new(Behaviour::Open),
            changed: Condvar::new(),
        });
        let accepting = Arc::clone(&link);
        std::thread::spawn(move || {
            for stream in listener.incoming().filter_map(Result::ok) {
                let (link, targets) = (Arc::clone(&accepting), Arc::clone(&targets));
                std::thread::spawn(move || link.connect(stream, &targets));
            }
        });
        Ok(link)
    }

    pub(super) fn set(&self, behaviour: Behaviour) {
        *self.behaviour() = behaviour;
        self.changed.notify_all();
    }

    fn behaviour(&self) -> MutexGuard<'_, Behaviour> {
        self.behaviour
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Connects a client with a target. A connection that all refuse is closed at once.
    fn connect(self: &Arc<Self>, client: TcpStream, targets: &[SocketAddr]) {
        if self.pass(Way::Request).is_none() {
            return;
        }
        let mut accepted = targets
            .iter()
            .filter_map(|target| TcpStream::connect(target).ok());
        let Some(server) = accepted.next() else {
            return;
        };
        let _ = client.set_nodelay(true);
        let _ = server.set_nodelay(true);
        let (Ok(from), Ok(to)) = (client.try_clone(), server.try_clone()) else {
            return;
        };
        let link = Arc::clone(self);
        std::thread::spawn(move || link.pump(from, to, Way::Request));
        self.pump(server, client, Way::Answer);
    }

    /// Passes on the bytes of one direction until either end closes.
    fn pump(&self, mut from: TcpStream, mut to: TcpStream, way: Way) {
        let mut piece = vec![0; 64 * 1_024];
        while let Ok(count @ 1..) = from.read(&mut piece) {
            let bytes = piece.get(..count).unwrap_or_default();
            if self.pass(way).is_none() || to.write_all(bytes).is_err() {
                break;
            }
        }
        // Fails only if an end is closed already.
        let _ = from.shutdown(Shutdown::Both);
        let _ = to.shutdown(Shutdown::Both);
    }

    /// Waits until bytes may pass. `None`: the connection breaks.
    fn pass(&self, way: Way) -> Option<()> {
        let mut behaviour = self.behaviour();
        loop {
            match behaviour.fate(way) {
                Fate::Pass(time) => {
                    drop(behaviour);
                    park_for(time);
                    return Some(());
                }
                Fate::Break => return None,
                Fate::Hold => {
                    behaviour = self
                        .changed
                        .wait(behaviour)
                        .unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that answers each byte with the next one, behind a link.
    fn echo() -> (Arc<Link>, SocketAddr) {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let listener = TcpListener::bind(any).unwrap();
        let target = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                std::thread::spawn(move || {
                    let mut byte = [0];
                    while stream.read_exact(&mut byte).is_ok() {
                        stream.write_all(&[byte[0] + 1]).unwrap();
                    }
                });
            }
        });
        let listen = partita_bench::admin::free_port().unwrap();
        (Link::start(listen, target).unwrap(), listen)
    }

    fn ask(stream: &mut TcpStream, byte: u8) -> Option<u8> {
        stream.write_all(&[byte]).ok()?;
        let mut answer = [0];
        stream.read_exact(&mut answer).ok().map(|()| answer[0])
    }

    #[test]
    fn a_balancer_uses_the_first_target_that_accepts() {
        let (_link, echo) = echo();
        let [refusing, listen] = [(); 2].map(|()| partita_bench::admin::free_port().unwrap());
        let _balancer = Link::start_to_any(listen, vec![refusing, echo]).unwrap();
        let mut stream = TcpStream::connect(listen).unwrap();
        assert_eq!(ask(&mut stream, 1), Some(2));
    }

    #[test]
    fn a_link_passes_holds_and_breaks() {
        let (link, addr) = echo();
        let mut stream = TcpStream::connect(addr).unwrap();
        assert_eq!(ask(&mut stream, 1), Some(2));
        for behaviour in [Behaviour::Cut, Behaviour::NoAnswers, Behaviour::NoRequests] {
            link.set(behaviour);
            let short = Some(Duration::from_millis(50));
            stream.set_read_timeout(short).unwrap();
            assert_eq!(ask(&mut stream, 5), None, "{behaviour:?}");
            stream.set_read_timeout(None).unwrap();
            link.set(Behaviour::Open);
            // The held byte is delivered.
            let mut answer = [0];
            stream.read_exact(&mut answer).unwrap();
            assert_eq!(answer, [6], "{behaviour:?}");
        }
        link.set(Behaviour::Delay(Duration::from_millis(1)));
        assert_eq!(ask(&mut stream, 7), Some(8));
        link.set(Behaviour::DropAnswers);
        assert_eq!(ask(&mut stream, 7), None);
        assert_eq!(ask(&mut stream, 7), None);
        link.set(Behaviour::Open);
        let mut again = TcpStream::connect(addr).unwrap();
        assert_eq!(ask(&mut again, 1), Some(2));
    }
}
