//! A client that uses any server, and another one after a failure.

use std::net::SocketAddr;
use std::time::Duration;

use partita_load::Random;

use crate::client::{Client, Request, Response};
use crate::{Account, park_for};

/// How long a client waits for an answer. A server holds a request at most 2.5 s.
const PATIENCE: Duration = Duration::from_secs(4);

/// What became of a request.
#[derive(Debug)]
pub enum Answer {
    /// It was answered.
    Got(Response),
    /// It was not executed.
    Refused,
    /// It may be executed, also later.
    Unknown,
}

/// A connection to one of the servers at a time.
#[derive(Debug)]
pub struct Connection {
    fronts: Vec<SocketAddr>,
    account: Account,
    /// The random numbers of the client.
    pub random: Random,
    client: Option<Client>,
}

impl Connection {
    /// A client of these servers, which connects with its first request.
    pub fn new(fronts: &[SocketAddr], account: &Account, random: Random) -> Self {
        Self {
            fronts: fronts.to_vec(),
            account: account.clone(),
            random,
            client: None,
        }
    }

    /// Sends a request to the server of the last one, or to another.
    pub fn send(&mut self, request: &Request<'_>) -> Answer {
        if self.random.chance(5) {
            self.client = None;
        }
        if self.client.is_none() {
            let front = self.random.below(self.fronts.len() as u64) as usize;
            self.client = Client::connect(self.fronts[front], self.account.clone()).ok();
        }
        let Some(client) = &mut self.client else {
            park_for(Duration::from_millis(20));
            return Answer::Refused;
        };
        let sent = client
            .set_patience(PATIENCE)
            .map_err(Into::into)
            .and_then(|()| client.send(request));
        match sent {
            Ok(answer) if answer.status == 503 => {
                park_for(Duration::from_millis(20));
                Answer::Refused
            }
            Ok(answer) if answer.status == 500 => Answer::Unknown,
            Ok(answer) => Answer::Got(answer),
            Err(_) => {
                self.client = None;
                Answer::Unknown
            }
        }
    }

    /// Repeats a request until it is answered, or `gives_up`: one that changes nothing, or may be executed twice.
    pub fn send_until_answered(
        &mut self,
        request: &Request<'_>,
        gives_up: impl Fn() -> bool,
    ) -> Option<(std::time::Instant, Response)> {
        while !gives_up() {
            let start = std::time::Instant::now();
            if let Answer::Got(answer) = self.send(request) {
                return Some((start, answer));
            }
        }
        None
    }

    /// The address of the server that the next request probably uses, for the URLs in batches.
    pub fn front(&self) -> SocketAddr {
        self.fronts[0]
    }

    /// The account whose key signs the requests.
    pub fn account(&self) -> &Account {
        &self.account
    }
}
