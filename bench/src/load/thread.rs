//! One driver thread: its connections in one epoll set, each the worker of a closed loop.
//!
//! A connection's worker is a future of the shared load driver ([`partita_load::Run`]). It is polled when its socket is
//! ready, so no waker, queue or timer is involved, and a request costs one write and one read.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context as TaskContext, Waker};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use mio::{Events, Interest, Poll, Registry, Token};
use partita_load::{Clock, Run, RunOptions, Schedule, Sender, Stage, StageCell, Times, count};

use super::LoadResult;
use super::connection::{Answer, Connection};
use crate::Workload;

/// Bytes of the buffer that answers are read into: a page of 1,000 entities takes five reads.
const READ_BYTES: usize = 256 * 1_024;

/// Maximum number of errors of a run. With more, the run fails, because its figures would show how fast a broken server
/// reports errors.
const ERRORS_MAX: u64 = 1_000;

/// How often requests get a fresh date and signature.
const SIGN_EVERY: Duration = Duration::from_secs(1);

/// The status of a request that was not executed and may be retried.
const SERVER_BUSY: u16 = 503;

/// A thread whose connections are open.
pub(super) struct Thread {
    poll: Poll,
    connections: Vec<Connection>,
    shared: Shared,
}

/// State shared by the connections of a thread.
struct Shared {
    addr: SocketAddr,
    registry: Registry,
    workload: RefCell<Workload>,
    buffer: RefCell<Vec<u8>>,
    result: RefCell<LoadResult>,
    /// Why the run has failed.
    failure: RefCell<Option<anyhow::Error>>,
    /// Whether answers are recorded.
    is_measuring: Cell<bool>,
    /// Whether the socket of the connection that is polled can be read.
    is_readable: Cell<bool>,
    began: Instant,
}

impl Thread {
    pub(super) fn connect(connections: usize, workload: Workload) -> anyhow::Result<Self> {
        let poll = Poll::new().context("making an epoll set")?;
        let shared = Shared {
            addr: workload.addr(),
            registry: poll.registry().try_clone()?,
            workload: RefCell::new(workload),
            buffer: RefCell::new(vec![0; READ_BYTES]),
            result: RefCell::new(LoadResult::default()),
            failure: RefCell::new(None),
            is_measuring: Cell::new(false),
            is_readable: Cell::new(false),
            began: Instant::now(),
        };
        let connections = (0..connections)
            .map(|index| shared.open(index))
            .collect::<anyhow::Result<_>>()?;
        Ok(Self {
            poll,
            connections,
            shared,
        })
    }

    /// Keeps every connection busy until the run stops.
    pub(super) fn run(self, stage: &StageCell) -> anyhow::Result<LoadResult> {
        let Self {
            mut poll,
            connections,
            shared,
        } = self;
        // Each thread has its own run, so that connections of different threads share no state.
        let run = Run::new(RunOptions {
            schedule: Schedule::CLOSED,
            workers: connections.len(),
            duration: None,
            operations: None,
        });
        let workers = connections.into_iter().enumerate();
        let mut workers: Vec<_> = workers
            .map(|(index, connection)| Box::pin(work(&run, &shared, index, connection)))
            .collect();
        for worker in &mut workers {
            shared.advance(worker.as_mut())?;
        }
        let mut events = Events::with_capacity(1_024);
        let mut signed = Instant::now();
        loop {
            // Because of the timeout, a thread notices the end of the run even if the server sends nothing.
            poll.poll(&mut events, Some(Duration::from_millis(100)))?;
            let stage = stage.get();
            if stage == Stage::Stopped {
                drop(workers);
                return Ok(shared.result.into_inner());
            }
            shared.is_measuring.set(stage == Stage::Measuring);
            for event in &events {
                shared.is_readable.set(event.is_readable());
                if let Some(worker) = workers.get_mut(event.token().0) {
                    shared.advance(worker.as_mut())?;
                }
            }
            if signed.elapsed() >= SIGN_EVERY {
                shared.workload.borrow_mut().refresh();
                signed = Instant::now();
            }
        }
    }
}

/// The worker of a connection: it ends only when the run has failed.
async fn work(run: &Run, shared: &Shared, index: usize, connection: Connection) {
    let mut sender = ConnectionSender {
        shared,
        index,
        connection,
    };
    run.work(index, shared, &mut sender).await;
}

impl Shared {
    fn open(&self, index: usize) -> anyhow::Result<Connection> {
        let mut connection = Connection::open(self.addr)?;
        self.registry.register(
            &mut connection.stream,
            Token(index),
            Interest::READABLE | Interest::WRITABLE,
        )?;
        Ok(connection)
    }

    /// Polls a worker once.
    fn advance(&self, worker: Pin<&mut impl Future<Output = ()>>) -> anyhow::Result<()> {
        let mut context = TaskContext::from_waker(Waker::noop());
        if worker.poll(&mut context).is_ready() {
            let failure = self.failure.take();
            return Err(failure.unwrap_or_else(|| anyhow::anyhow!("a worker ended before the run")));
        }
        Ok(())
    }

    /// Waits for the next event of the socket; true when it can be read.
    async fn ready(&self) -> bool {
        let mut is_polled_again = false;
        std::future::poll_fn(|_| match is_polled_again {
            true => std::task::Poll::Ready(self.is_readable.get()),
            false => {
                is_polled_again = true;
                std::task::Poll::Pending
            }
        })
        .await
    }

    fn count_error(&self, text: String) -> anyhow::Result<()> {
        let mut result = self.result.borrow_mut();
        result.errors += 1;
        if result.errors > ERRORS_MAX {
            bail!("more than {ERRORS_MAX} errors, the last one: {text}");
        }
        result.first_error.get_or_insert(text);
        Ok(())
    }
}

impl Clock for Shared {
    fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    fn is_stopped(&self) -> bool {
        self.failure.borrow().is_some()
    }

    async fn sleep_until(&self, _: Duration) -> bool {
        unreachable!("a closed loop without a ramp never waits")
    }
}

/// Sends the requests of a workload over one connection.
struct ConnectionSender<'a> {
    shared: &'a Shared,
    index: usize,
    connection: Connection,
}

impl Sender for ConnectionSender<'_> {
    type Request = ();
    type Outcome = anyhow::Result<Answer>;

    /// Writes the request into the connection's slot, which keeps most bytes of the previous request.
    #[inline]
    fn prepare(&mut self, _: u64) {
        let mut workload = self.shared.workload.borrow_mut();
        workload.fill(&mut self.connection.slot);
    }

    async fn send(&mut self, (): ()) -> anyhow::Result<Answer> {
        self.connection.start()?;
        loop {
            let is_readable = self.shared.ready().await;
            self.connection.send()?;
            if is_readable {
                let mut buffer = self.shared.buffer.borrow_mut();
                if let Some(answer) = self.connection.receive(&mut buffer)? {
                    return Ok(answer);
                }
            }
        }
    }

    #[inline]
    fn record(&mut self, times: Times, outcome: anyhow::Result<Answer>) {
        if let Err(error) = self.take(times, outcome) {
            *self.shared.failure.borrow_mut() = Some(error);
        }
    }
}

impl ConnectionSender<'_> {
    /// Records an answer, and reopens a connection that broke or is about to close.
    ///
    /// # Errors
    /// When the run has failed.
    fn take(&mut self, times: Times, outcome: anyhow::Result<Answer>) -> anyhow::Result<()> {
        let broken = match outcome {
            Ok(answer) => {
                self.take_answer(&answer, times)?;
                answer
                    .close
                    .then(|| "the server closes connections".to_owned())
            }
            Err(error) => Some(format!("{error:#}")),
        };
        if let Some(reason) = broken {
            self.shared.count_error(reason)?;
            self.connection = self.shared.open(self.index)?;
        }
        Ok(())
    }

    fn take_answer(&mut self, answer: &Answer, times: Times) -> anyhow::Result<()> {
        let kind = self.shared.workload.borrow().kind();
        if answer.status != kind.status() || answer.body_bytes < kind.body_bytes_min() {
            let sample = self.connection.sample();
            if answer.status == SERVER_BUSY {
                let mut result = self.shared.result.borrow_mut();
                count(&mut result.refused, reason(&sample));
                return Ok(());
            }
            return self.shared.count_error(format!(
                "{}: status {} with a body of {} bytes: {sample}",
                kind.name(),
                answer.status,
                answer.body_bytes
            ));
        }
        if self.shared.is_measuring.get() {
            let mut result = self.shared.result.borrow_mut();
            result.requests += 1;
            result.body_bytes += answer.body_bytes;
            result.latency.record(times.service());
        }
        Ok(())
    }
}

/// Why the server was busy, from the beginning of its answer.
fn reason(answer: &str) -> &str {
    let mut lines = answer.lines();
    let reason = lines.find_map(|line| line.strip_prefix("x-partita-reason: "));
    reason.unwrap_or("no reason given")
}
