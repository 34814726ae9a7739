//! Time limits, rates and places, with a clock that the test moves.

use super::progress::Order;
use super::*;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::{Request, Response};
use partita_service::MemoryBudget;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, DuplexStream};

/// The minimum rate of a body or an answer in these tests, in bytes per second.
const RATE: usize = 1_000;

fn patience(evicts: Evicts) -> Patience {
    let seconds = Duration::from_secs;
    Patience {
        idle: seconds(10),
        head: seconds(5),
        stall: seconds(3),
        rate_min: RATE as u64,
        linger: seconds(2),
        evicts,
    }
}

fn watch() -> Arc<Watch> {
    Watch::new(patience(Evicts::Waiting))
}

fn pass(watch: &Watch, seconds: u32) {
    for _ in 0..seconds {
        watch.tick();
    }
}

/// A connection that waits for its client's second request.
fn idle(watch: &Arc<Watch>) -> Watched {
    let connection = watch.watch();
    connection.progress.read_bytes(1);
    connection.progress.enter(Phase::Working);
    connection.progress.wrote_bytes(1);
    connection.progress.flushed();
    connection
}

fn working(watch: &Arc<Watch>) -> Watched {
    let connection = watch.watch();
    connection.progress.read_bytes(1);
    connection.progress.enter(Phase::Working);
    connection
}

fn order(connection: &Watched) -> Order {
    connection.progress.order()
}

#[test]
fn a_silent_connection_is_closed_after_the_heads_time_and_an_idle_one_later() {
    let watch = watch();
    let (silent, slow, idle) = (watch.watch(), watch.watch(), idle(&watch));
    pass(&watch, 4);
    slow.progress.read_bytes(1);
    pass(&watch, 1);
    slow.progress.read_bytes(1);
    assert_eq!((order(&silent), order(&slow)), (Order::GoOn, Order::GoOn));
    pass(&watch, 1);
    assert_eq!(
        (order(&silent), order(&slow)),
        (Order::BreakOff, Order::BreakOff),
        "bytes do not extend the head's time"
    );
    assert_eq!(order(&idle), Order::GoOn);
    pass(&watch, 5);
    assert_eq!(order(&idle), Order::BreakOff);
}

#[test]
fn the_head_of_a_further_request_has_its_own_time() {
    let watch = watch();
    let connection = idle(&watch);
    pass(&watch, 9);
    connection.progress.read_bytes(1);
    pass(&watch, 5);
    assert_eq!(order(&connection), Order::GoOn);
    pass(&watch, 1);
    assert_eq!(order(&connection), Order::BreakOff);
}

#[test]
fn a_body_at_the_lowest_rate_and_a_working_server_have_no_limit() {
    let watch = watch();
    let (moving, working) = (working(&watch), working(&watch));
    moving.progress.enter(Phase::Body);
    for _ in 0..10 {
        pass(&watch, 2);
        moving.progress.read_bytes(2 * RATE);
        // `100 Continue` does not end the wait for the body.
        moving.progress.wrote_bytes(25);
        moving.progress.flushed();
    }
    assert_eq!(
        (order(&moving), order(&working)),
        (Order::GoOn, Order::GoOn)
    );
    pass(&watch, 4);
    assert_eq!(
        (order(&moving), order(&working)),
        (Order::BreakOff, Order::GoOn)
    );
}

/// One byte in each second resets a timeout between bytes forever, so bodies need a minimum rate.
#[test]
fn a_body_sent_byte_by_byte_is_cut_off() {
    let watch = watch();
    let slow = working(&watch);
    slow.progress.enter(Phase::Body);
    for _ in 0..3 {
        pass(&watch, 1);
        assert_eq!(order(&slow), Order::GoOn);
        slow.progress.read_bytes(1);
    }
    pass(&watch, 1);
    assert_eq!(order(&slow), Order::BreakOff);
}

/// The buffers of the system take the first megabytes of an answer at once. A rate over the whole answer would let the
/// client take nothing more for an hour.
#[test]
fn an_answer_whose_first_bytes_were_taken_at_once_is_cut_off() {
    let watch = watch();
    let (slow, next) = (working(&watch), working(&watch));
    slow.progress.wrote_bytes(3_600 * RATE);
    slow.progress.has_to_write();
    for _ in 0..4 {
        assert_eq!(order(&slow), Order::GoOn);
        // Several answers in a row are not one slow answer.
        next.progress.enter(Phase::Working);
        next.progress.wrote_bytes(1);
        pass(&watch, 1);
        slow.progress.wrote_bytes(RATE / 10);
        next.progress.flushed();
        next.progress.read_bytes(1);
    }
    pass(&watch, 1);
    assert_eq!((order(&slow), order(&next)), (Order::BreakOff, Order::GoOn));
}

#[test]
fn a_closed_connection_is_forgotten() {
    let watch = watch();
    drop(watch.watch());
    assert_eq!(watch.connections(), 0);
}

#[tokio::test]
async fn orders_reach_a_connection_before_and_while_it_waits() {
    let watch = watch();
    let (early, late) = (watch.watch(), watch.watch());
    late.progress.read_bytes(1);
    let mut listening = Box::pin(late.progress.next_order(Order::GoOn));
    assert!(futures::poll!(listening.as_mut()).is_pending());
    watch.end();
    assert_eq!(listening.await, Order::End);
    assert_eq!(early.progress.next_order(Order::GoOn).await, Order::End);
    assert_eq!(early.progress.ordered_to_close().await, Ended::Closed);
    let later = watch.watch();
    assert_eq!(later.progress.next_order(Order::GoOn).await, Order::End);
    let mut listening = Box::pin(late.progress.next_order(Order::End));
    assert!(futures::poll!(listening.as_mut()).is_pending());
    pass(&watch, 6);
    assert_eq!(listening.await, Order::BreakOff);
    watch.end();
    assert_eq!(order(&late), Order::BreakOff, "the greater order wins");
}

#[tokio::test]
async fn the_connection_that_has_waited_longest_makes_room() {
    let watch = watch();
    let (old_idle, busy, old_silent) = (idle(&watch), working(&watch), watch.watch());
    pass(&watch, 1);
    let (half_a_head, recent_idle) = (watch.watch(), idle(&watch));
    half_a_head.progress.read_bytes(1);
    pass(&watch, 1);
    let newest = watch.watch();
    let all = [
        &old_idle,
        &busy,
        &old_silent,
        &half_a_head,
        &recent_idle,
        &newest,
    ];
    watch.make_room(7).await;
    assert!(
        all.iter().all(|one| order(one) == Order::GoOn),
        "with room, no connection gets an order"
    );
    let mut others = Vec::new();
    for expected in [&old_idle, &old_silent, &half_a_head, &newest] {
        watch.make_room(6).await;
        assert_eq!(order(expected), Order::MakeRoom);
        others.push(watch.watch());
    }
    assert_eq!(
        (order(&busy), order(&recent_idle)),
        (Order::GoOn, Order::GoOn)
    );
}

/// Connections in steady use are not closed for new clients: their requests would fail with resets.
#[tokio::test]
async fn a_new_connection_waits_while_all_others_are_in_use() {
    let watch = watch();
    let (busy, recent) = (working(&watch), idle(&watch));
    let mut waiting = Box::pin(watch.make_room(2));
    assert!(futures::poll!(waiting.as_mut()).is_pending());
    pass(&watch, 1);
    assert!(futures::poll!(waiting.as_mut()).is_pending());
    pass(&watch, 1);
    waiting.await;
    assert_eq!(
        (order(&busy), order(&recent)),
        (Order::GoOn, Order::MakeRoom)
    );
    // `recent` occupies its place until it is dropped, so its order makes room for one newcomer only.
    let newcomer = working(&watch);
    let mut waiting = Box::pin(watch.make_room(2));
    assert!(futures::poll!(waiting.as_mut()).is_pending());
    drop(recent);
    assert!(futures::poll!(waiting.as_mut()).is_pending());
    drop(busy);
    waiting.await;
    assert_eq!(order(&newcomer), Order::GoOn);
}

#[tokio::test]
async fn the_admin_port_closes_unfinished_requests_but_no_running_action() {
    let watch = Watch::new(patience(Evicts::AllButWorking));
    let (action, body, reader, probe) = (
        working(&watch),
        working(&watch),
        working(&watch),
        idle(&watch),
    );
    body.progress.enter(Phase::Body);
    reader.progress.has_to_write();
    let mut others = Vec::new();
    for expected in [&body, &reader, &probe] {
        watch.make_room(4).await;
        assert_eq!(order(expected), Order::MakeRoom);
        others.push(watch.watch());
    }
    assert!(body.may_be_evicted() && !action.may_be_evicted());
    assert_eq!(order(&action), Order::GoOn);
}

/// A stream that records the size of the buffer of the last read.
struct Measured {
    inner: DuplexStream,
    room: Arc<AtomicUsize>,
}

impl AsyncRead for Measured {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut tokio::io::ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.room.store(buffer.remaining(), Ordering::Relaxed);
        Pin::new(&mut self.inner).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Measured {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n";

async fn read_answer(client: &mut DuplexStream) {
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\nok") {
        answer.push(client.read_u8().await.unwrap());
    }
}

/// Answers after the whole body.
async fn answer(request: Request<Incoming>) -> Response<Full<Bytes>> {
    request.into_body().collect().await.unwrap();
    Response::new(Full::from("ok"))
}

/// Serves a connection to `client`, which gets the watch and the buffer size of the last read. Returns how the
/// connection ended.
async fn serve_client<F: Future<Output = ()>>(
    client: impl FnOnce(DuplexStream, Arc<Watch>, Arc<AtomicUsize>) -> F,
) -> Ended {
    serve_client_within(&MemoryBudget::unlimited(), client).await
}

async fn serve_client_within<F: Future<Output = ()>>(
    memory: &Arc<MemoryBudget>,
    client: impl FnOnce(DuplexStream, Arc<Watch>, Arc<AtomicUsize>) -> F,
) -> Ended {
    let (watch, room) = (watch(), Arc::new(AtomicUsize::new(0)));
    let (end, inner) = tokio::io::duplex(64 << 10);
    let stream = Measured {
        inner,
        room: Arc::clone(&room),
    };
    let watched = watch.watch();
    let buffers = Buffers {
        head_bytes_max: 64 << 10,
        memory,
    };
    let serving = super::serve(stream, &watched, buffers, answer);
    tokio::join!(serving, client(end, watch, room)).0
}

/// Lets the connection run until it waits again.
async fn settle() {
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn an_idle_connection_gives_back_its_buffers_until_the_next_request() {
    let ended = serve_client(async |mut client, watch, room| {
        let room = || room.load(Ordering::Relaxed);
        for _ in 0..2 {
            // In two parts, so that a request begins while the connection rests.
            client.write_all(b"G").await.unwrap();
            settle().await;
            client.write_all(&REQUEST[1..]).await.unwrap();
            read_answer(&mut client).await;
            settle().await;
            assert!(room() > 1_000, "{}", room());
            pass(&watch, 2);
            settle().await;
            assert_eq!(room(), 1, "the buffer of an idle connection");
        }
    });
    assert_eq!(ended.await, Ended::Closed);
}

#[tokio::test]
async fn bytes_of_the_next_request_are_not_lost_when_the_buffers_are_given_back() {
    let ended = serve_client(async |mut client, watch, _| {
        let both = [REQUEST, &REQUEST[..9]].concat();
        client.write_all(&both).await.unwrap();
        read_answer(&mut client).await;
        pass(&watch, 3);
        settle().await;
        client.write_all(&REQUEST[9..]).await.unwrap();
        read_answer(&mut client).await;
    });
    assert_eq!(ended.await, Ended::Closed);
}

#[tokio::test]
async fn a_resting_connection_is_closed_in_time() {
    let ended = serve_client(async |mut client, watch, _| {
        client.write_all(REQUEST).await.unwrap();
        read_answer(&mut client).await;
        pass(&watch, 2);
        settle().await;
        pass(&watch, 9);
        assert_eq!(client.read(&mut [0; 1]).await.unwrap(), 0);
    });
    assert_eq!(ended.await, Ended::Slow);
}

/// A request with a body that fills the buffer of its reads several times.
async fn post(client: &mut DuplexStream) {
    const BODY_BYTES: usize = 400_000;
    let head = format!("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: {BODY_BYTES}\r\n\r\n");
    client.write_all(head.as_bytes()).await.unwrap();
    client.write_all(&vec![b'a'; BODY_BYTES]).await.unwrap();
    read_answer(client).await;
}

#[tokio::test]
async fn a_large_buffer_is_counted_until_the_connection_rests() {
    let memory = MemoryBudget::new(1 << 20);
    let ended = serve_client_within(&memory, async |mut client, watch, room| {
        for _ in 0..2 {
            post(&mut client).await;
            let buffer = room.load(Ordering::Relaxed);
            let counted = memory.bytes() as usize;
            assert!(buffer > 16 << 10, "{buffer}");
            assert!((buffer..=5 * buffer).contains(&counted), "{counted}");
            pass(&watch, 2);
            settle().await;
            assert_eq!(memory.bytes(), 0);
        }
    });
    assert_eq!(ended.await, Ended::Closed);
}

#[tokio::test]
async fn without_memory_for_a_large_buffer_a_body_is_read_in_short_pieces() {
    let memory = MemoryBudget::new(10 << 10);
    let ended = serve_client_within(&memory, async |mut client, _, room| {
        for _ in 0..2 {
            post(&mut client).await;
            let buffer = room.load(Ordering::Relaxed);
            assert!((1..=16 << 10).contains(&buffer), "{buffer}");
        }
        assert_eq!(memory.bytes(), 0);
    });
    assert_eq!(ended.await, Ended::Closed);
}
