//! `cargo harness hostile`: requests that break the rules, over raw sockets.
//!
//! A seed determines the [`inputs`]: malformed request lines, headers, chunked bodies, batches, filters, JSON and XML,
//! wrong signatures, pipelines, bytes that come slowly, and ordinary requests with changed bytes. Eight clients send them.
//!
//! - Every complete input is answered: with a status that blames the request (400 to 499, 501 NotImplemented, or 505
//!   for HTTP/2), or as a read.
//! - Nothing changes: the rows and ETags of all tables are those from before. Inputs that may write go to a table of their
//!   own.
//! - The server serves an ordinary client all the time, and its memory stays bounded.

mod inputs;
mod shared_access;

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use partita_bench::client::{Client, Request};
use partita_bench::{Account, create_table, park_for, partita_command};
use partita_load::Random;

use self::inputs::{Answer, Generator, Input};
use crate::setup::{self, SeededTest, scratch};

/// The table that must not change.
const KEPT: &str = "kept";
/// The table of inputs that may write.
const SCRATCH: &str = "scratch";

const CLIENTS: usize = 8;

/// Rows of the table that must not change.
const ROWS: u64 = 300;

/// The server's settings: short times, so that incomplete requests end soon.
const SETTINGS: [&str; 6] = [
    "--header-timeout",
    "2s",
    "--stall-timeout",
    "3s",
    "--memory-in-flight",
    "64MiB",
];

/// Longest time until an answer or the end of the connection.
const ANSWER_MAX: Duration = Duration::from_secs(20);

/// After this time without a byte, no more answers are expected, unless their number is known.
const PAUSE: Duration = Duration::from_millis(250);

/// Longest time until an ordinary get is answered: less than inputs take that wait for a time limit of the server, and more
/// than a busy machine needs.
const GET_MAX: Duration = Duration::from_secs(8);

/// Longest time of 99 of 100 ordinary gets.
const GET_P99_MAX: Duration = Duration::from_secs(1);

/// Maximum memory of the server, MiB.
const MEMORY_MIB_MAX: f64 = 256.0;

/// Send requests that break the rules and check the answers, the rows and the memory
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Number of inputs
    #[arg(long, default_value_t = 500)]
    inputs: usize,
    #[command(flatten)]
    test: SeededTest,
}

/// What the clients found.
#[derive(Debug, Default)]
struct Findings {
    /// Number of answers of each kind of input, by status; 0 when the connection was closed.
    answers: BTreeMap<&'static str, BTreeMap<u16, u64>>,
    faults: Vec<String>,
    slowest_get: Duration,
}

impl Findings {
    fn print(&self) {
        println!("| input | answers by status; 0: closed |");
        println!("| --- | --- |");
        for (kind, answers) in &self.answers {
            let answers: Vec<_> = answers
                .iter()
                .map(|(status, count)| format!("{status}: {count}"))
                .collect();
            println!("| {kind} | {} |", answers.join(", "));
        }
    }
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let seed = arguments.test.seed();
    send_all(arguments, seed).with_context(|| format!("--seed {seed}"))
}

fn send_all(arguments: &Arguments, seed: u64) -> anyhow::Result<()> {
    let began = Instant::now();
    let program = arguments.test.server.path()?;
    let directory = scratch("hostile")?;
    let mut command = partita_command(&program, directory.path());
    command.args(SETTINGS);
    let server = setup::start_command(command)?;
    let (addr, account) = (server.addr(), Account::well_known());
    let mut client = Client::connect(addr, account.clone())?;
    fill(&mut client)?;
    let before = read_all(&mut client)?;
    let findings = Mutex::new(Findings::default());
    let (next, ended) = (AtomicUsize::new(0), AtomicBool::new(false));
    let served = std::thread::scope(|scope| {
        let serve = scope.spawn(|| serve_ordinary(addr, &account, &ended, &findings));
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| {
                scope.spawn(|| {
                    let generator = Generator::new(addr, &account, seed)?;
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if number >= arguments.inputs {
                            return anyhow::Ok(());
                        }
                        let input = generator.input(number as u64);
                        judge(&input, number, &exchange(addr, &input), &findings);
                    }
                })
            })
            .collect();
        let sent: Vec<_> = clients.into_iter().map(|client| client.join()).collect();
        ended.store(true, Ordering::Relaxed);
        let served = serve.join();
        for sent in sent {
            sent.map_err(|_| anyhow::anyhow!("a client panicked"))??;
        }
        served.map_err(|_| anyhow::anyhow!("the ordinary client panicked"))
    })?;
    let log = || format!("the server's log:\n{}", server.log());
    served.with_context(log)?;
    let mut client = Client::connect(addr, account).with_context(log)?;
    let after = read_all(&mut client).with_context(log)?;
    let findings = findings
        .into_inner()
        .map_err(|_| anyhow::anyhow!("poisoned"))?;
    findings.print();
    crate::checkers::fail_with_log(&findings.faults, &server)?;
    ensure!(
        after == before,
        "rows have changed: {}",
        difference(&before, &after)
    );
    let peak = server.peak_rss_mib()?;
    ensure!(peak <= MEMORY_MIB_MAX, "the server took {peak:.0} MiB");
    println!(
        "hostile: {} inputs, all answered as documented, nothing changed; slowest get beside them {} ms, at most {peak:.0} MiB, \
         {:.1} s in all",
        arguments.inputs,
        findings.slowest_get.as_millis(),
        began.elapsed().as_secs_f64()
    );
    Ok(())
}

fn fill(client: &mut Client) -> anyhow::Result<()> {
    create_table(client, KEPT)?;
    create_table(client, SCRATCH)?;
    for row in 0..ROWS {
        let path = format!("/{KEPT}(PartitionKey='p{}',RowKey='r{row:04}')", row % 5);
        let json = format!(r#"{{"Number":{row},"Text":"{}"}}"#, "text".repeat(200));
        client.put(&path, &[], json.as_bytes())?.expect(204)?;
    }
    Ok(())
}

/// The names of all tables, and every row of the table that must not change, as answered.
fn read_all(client: &mut Client) -> anyhow::Result<Vec<u8>> {
    let mut all = Vec::new();
    for path in ["/Tables".to_owned(), format!("/{KEPT}()")] {
        client.pages(&path, "$top=1000", |page| {
            all.extend_from_slice(&page.body);
            Ok(())
        })?;
    }
    Ok(all)
}

/// The position where the texts begin to differ, and what the second text has there.
fn difference(before: &[u8], after: &[u8]) -> String {
    let at = before.iter().zip(after).position(|(a, b)| a != b);
    let at = at.unwrap_or(before.len().min(after.len()));
    let text = after.get(at.saturating_sub(200)..).unwrap_or_default();
    let text: String = String::from_utf8_lossy(text).chars().take(500).collect();
    format!("at byte {at}: {text}")
}

/// Gets a row again and again.
fn serve_ordinary(
    addr: SocketAddr,
    account: &Account,
    ended: &AtomicBool,
    findings: &Mutex<Findings>,
) -> anyhow::Result<()> {
    let mut client = Client::connect(addr, account.clone())?;
    let (mut slowest, mut all, mut slow) = (Duration::ZERO, 0, 0);
    while !ended.load(Ordering::Relaxed) {
        let began = Instant::now();
        let row = format!("/{KEPT}(PartitionKey='p1',RowKey='r0001')");
        let answer = client.send(&Request::new("GET", &row));
        answer.context("an ordinary get")?.expect(200)?;
        let took = began.elapsed();
        slowest = slowest.max(took);
        all += 1;
        slow += u32::from(took > GET_P99_MAX);
        ensure!(slowest <= GET_MAX, "an ordinary get took {slowest:?}");
        park_for(Duration::from_millis(10));
    }
    ensure!(
        slow * 100 <= all,
        "{slow} of {all} ordinary gets took more than {GET_P99_MAX:?}"
    );
    if let Ok(mut findings) = findings.lock() {
        findings.slowest_get = slowest;
    }
    Ok(())
}

/// The answers to an input: all bytes until a pause or the end of the connection.
struct Exchange {
    bytes: Vec<u8>,
    took: Duration,
    timed_out: bool,
}

/// The statuses of all answers. A status line within a body would count too, but no body of this test has one.
fn statuses(bytes: &[u8]) -> Vec<u16> {
    let text = String::from_utf8_lossy(bytes);
    let lines = text.split("\r\n").filter_map(|line| {
        let at = line.find("HTTP/1.1 ")?;
        // A status line begins at the start of a line, or directly after the last answer's body.
        line.get(at + 9..at + 12)?.parse().ok()
    });
    lines.collect()
}

/// Sends an input, and reads the answers.
fn exchange(addr: SocketAddr, input: &Input) -> Exchange {
    let began = Instant::now();
    let mut bytes = Vec::new();
    let timed_out = talk(addr, input, &mut bytes).is_err_and(|error| {
        let kind = error.kind();
        matches!(
            kind,
            std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
        )
    });
    Exchange {
        bytes,
        took: began.elapsed(),
        timed_out,
    }
}

fn talk(addr: SocketAddr, input: &Input, bytes: &mut Vec<u8>) -> std::io::Result<()> {
    let mut stream = TcpStream::connect(addr)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(ANSWER_MAX))?;
    stream.set_write_timeout(Some(ANSWER_MAX))?;
    let piece = input.piece.unwrap_or(input.bytes.len()).max(1);
    for piece in input.bytes.chunks(piece) {
        // The server may refuse an input and close the connection before all of it is sent. Its answer can still be
        // read.
        if stream.write_all(piece).is_err() {
            break;
        }
        if input.piece.is_some() {
            park_for(Duration::from_millis(2));
        }
    }
    let mut piece = vec![0; 64 << 10];
    loop {
        match stream.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(count) => bytes.extend_from_slice(&piece[..count]),
            // Timed out after an answer: the server keeps the connection open.
            Err(_) if !bytes.is_empty() => return Ok(()),
            Err(error) => return Err(error),
        }
        let is_complete = match input.answer {
            Answer::All(count) => statuses(bytes).len() >= count,
            _ => true,
        };
        // A busy machine may pause for longer than `PAUSE` between two answers.
        stream.set_read_timeout(Some(if is_complete { PAUSE } else { ANSWER_MAX }))?;
    }
}

/// Counts the answer, and checks it.
fn judge(input: &Input, number: usize, exchange: &Exchange, findings: &Mutex<Findings>) {
    let statuses = statuses(&exchange.bytes);
    let is_refusal = |status: &u16| matches!(status, 400..=499 | 501 | 505);
    let is_success = |status: &u16| matches!(status, 200..=299);
    let fault = match input.answer {
        _ if exchange.timed_out => Some("neither answered nor closed"),
        Answer::Refused if statuses.is_empty() => Some("closed without an answer"),
        Answer::Refused if !statuses.iter().all(is_refusal) => Some("not refused"),
        Answer::RefusedOrRead | Answer::RefusedBatch if statuses.is_empty() => {
            Some("closed without an answer")
        }
        Answer::RefusedBatch
            if !statuses
                .iter()
                .all(|status| is_refusal(status) || *status == 202) =>
        {
            Some("not refused")
        }
        Answer::RefusedOrRead | Answer::Any
            if !statuses
                .iter()
                .all(|status| is_refusal(status) || is_success(status)) =>
        {
            Some("an undocumented answer")
        }
        Answer::All(count) if statuses.len() < count => Some("answers are missing"),
        _ => None,
    };
    let Ok(mut findings) = findings.lock() else {
        return;
    };
    let answers = findings.answers.entry(input.kind).or_default();
    *answers
        .entry(statuses.last().copied().unwrap_or_default())
        .or_default() += 1;
    if let Some(fault) = fault {
        let shorten = |bytes: &[u8]| {
            let text: String = String::from_utf8_lossy(bytes).chars().take(900).collect();
            text.escape_debug().to_string()
        };
        findings.faults.push(format!(
            "input {number}, {}: {fault} after {} ms: {statuses:?} {}; sent {} bytes: {}",
            input.kind,
            exchange.took.as_millis(),
            shorten(&exchange.bytes),
            input.bytes.len(),
            shorten(&input.bytes)
        ));
    }
}

/// One of a list.
fn pick<'a, T>(random: &mut Random, list: &'a [T]) -> &'a T {
    &list[random.below(list.len() as u64) as usize]
}
