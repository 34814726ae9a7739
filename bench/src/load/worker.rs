//! One driver thread.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use mio::{Events, Interest, Poll, Token};

use super::connection::{Answer, Connection};
use super::{LoadResult, MEASURING, STOPPED};
use crate::Workload;

/// Bytes of the buffer that answers are read into: a page of 1,000 entities takes five reads.
const READ_BYTES: usize = 256 * 1_024;

/// Errors after which a run is given up: the server is broken, and the figures would be of its error path.
const ERRORS_MAX: u64 = 1_000;

/// How often requests get a fresh date and signature.
const SIGN_EVERY: Duration = Duration::from_secs(1);

/// The status of an answer that says that nothing was done, and that it may be asked again.
const SERVER_BUSY: u16 = 503;

pub(super) struct Worker {
    poll: Poll,
    addr: SocketAddr,
    connections: Vec<Connection>,
    workload: Workload,
    result: LoadResult,
}

impl Worker {
    pub(super) fn connect(
        addr: SocketAddr,
        connections: usize,
        workload: Workload,
    ) -> anyhow::Result<Self> {
        let mut worker = Self {
            poll: Poll::new().context("making an epoll set")?,
            addr,
            connections: Vec::with_capacity(connections),
            workload,
            result: LoadResult::empty(),
        };
        for index in 0..connections {
            let connection = worker.open(index)?;
            worker.connections.push(connection);
        }
        Ok(worker)
    }

    fn open(&self, index: usize) -> anyhow::Result<Connection> {
        let mut connection = Connection::open(self.addr)?;
        self.poll.registry().register(
            &mut connection.stream,
            Token(index),
            Interest::READABLE | Interest::WRITABLE,
        )?;
        Ok(connection)
    }

    /// Keeps every connection busy until the run stops.
    pub(super) fn run(mut self, stage: &AtomicU8) -> anyhow::Result<LoadResult> {
        let mut buffer = vec![0; READ_BYTES];
        let mut events = Events::with_capacity(1_024);
        let mut signed = Instant::now();
        for index in 0..self.connections.len() {
            self.next(index)?;
        }
        loop {
            // The deadline only lets a thread see the end of the run when the server has gone silent.
            self.poll
                .poll(&mut events, Some(Duration::from_millis(100)))?;
            let stage = stage.load(Ordering::Relaxed);
            if stage == STOPPED {
                return Ok(self.result);
            }
            for event in &events {
                let index = event.token().0;
                if let Err(error) = self.advance(index, event.is_readable(), &mut buffer, stage) {
                    self.error(format!("{error:#}"))?;
                    let fresh = self.open(index)?;
                    if let Some(place) = self.connections.get_mut(index) {
                        *place = fresh;
                    }
                    self.next(index)?;
                }
            }
            if signed.elapsed() >= SIGN_EVERY {
                self.workload.refresh();
                signed = Instant::now();
            }
        }
    }

    /// Sends the next request of a connection.
    fn next(&mut self, index: usize) -> anyhow::Result<()> {
        if let Some(connection) = self.connections.get_mut(index) {
            self.workload.fill(&mut connection.slot);
            connection.start(Instant::now())?;
        }
        Ok(())
    }

    /// Does what a ready socket allows.
    fn advance(
        &mut self,
        index: usize,
        readable: bool,
        buffer: &mut [u8],
        stage: u8,
    ) -> anyhow::Result<()> {
        let Some(connection) = self.connections.get_mut(index) else {
            return Ok(());
        };
        connection.send()?;
        if !readable {
            return Ok(());
        }
        let Some(answer) = connection.receive(buffer)? else {
            return Ok(());
        };
        self.record(index, &answer, stage)?;
        if answer.close {
            bail!("the server closes connections");
        }
        self.next(index)
    }

    fn record(&mut self, index: usize, answer: &Answer, stage: u8) -> anyhow::Result<()> {
        let kind = self.workload.kind();
        if answer.status != kind.status() || answer.body_bytes < kind.body_bytes_min() {
            let sample = self
                .connections
                .get(index)
                .map(Connection::sample)
                .unwrap_or_default();
            if answer.status == SERVER_BUSY {
                *self.result.refused.entry(reason(&sample)).or_default() += 1;
                return Ok(());
            }
            return self.error(format!(
                "{}: status {} with a body of {} bytes: {sample}",
                kind.name(),
                answer.status,
                answer.body_bytes
            ));
        }
        if stage == MEASURING {
            self.result.requests += 1;
            self.result.body_bytes += answer.body_bytes;
            let latency_us = u64::try_from(answer.latency.as_micros()).unwrap_or(u64::MAX);
            self.result.latency_us.saturating_record(latency_us.max(1));
        }
        Ok(())
    }

    fn error(&mut self, text: String) -> anyhow::Result<()> {
        self.result.errors += 1;
        if self.result.errors > ERRORS_MAX {
            bail!("more than {ERRORS_MAX} errors, the last one: {text}");
        }
        self.result.first_error.get_or_insert(text);
        Ok(())
    }
}

/// Why the server was busy, from the beginning of its answer.
fn reason(answer: &str) -> String {
    let mut lines = answer.lines();
    let reason = lines.find_map(|line| line.strip_prefix("x-partita-reason: "));
    reason.unwrap_or("no reason given").to_owned()
}
