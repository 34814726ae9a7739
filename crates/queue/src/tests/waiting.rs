//! Receives that wait for a message, and receives whose caller goes away. tokio's time is virtual here.

use super::{Rig, SECOND, account, name, texts};
use crate::PutMessage;
use std::future::{Future, pending, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;
use tokio::time::Instant;

/// Polls a future once.
async fn poll_once<F: Future>(mut future: Pin<&mut F>) -> Poll<F::Output> {
    poll_fn(|context| Poll::Ready(future.as_mut().poll(context))).await
}

#[tokio::test]
async fn a_receive_that_is_dropped_early_hides_nothing() {
    let rig = Rig::new().await;
    rig.put("a").await;
    {
        let get = pin!(rig.service.get_messages(&rig.queue, 1, SECOND));
        assert!(poll_once(get).await.is_pending());
    }
    let got = rig.get(1).await;
    assert_eq!((texts(&got), got[0].dequeue_count), (vec!["a"], 1));
}

/// Waits for one message for an hour, and returns how long it took.
async fn wait(rig: &Rig) -> (Vec<String>, Duration) {
    let began = Instant::now();
    let hour = 3600 * SECOND;
    let get = rig
        .service
        .get_messages_within(&rig.queue, 1, hour, hour, pending());
    let got = get.await.unwrap();
    let texts = texts(&got).into_iter().map(str::to_owned).collect();
    (texts, began.elapsed())
}

/// The time passes, for the service too.
async fn pass(rig: &Rig, seconds: u32) {
    for _ in 0..seconds {
        tokio::time::sleep(SECOND).await;
        rig.clock.advance(SECOND);
    }
}

#[tokio::test(start_paused = true)]
async fn two_messages_in_a_group_wake_two_receives() {
    let rig = Rig::new().await;
    let (mut first, mut second) = (pin!(wait(&rig)), pin!(wait(&rig)));
    assert!(poll_once(first.as_mut()).await.is_pending());
    assert!(poll_once(second.as_mut()).await.is_pending());
    // Their groups are executed, and that of the two messages, before they are polled again.
    rig.get(1).await;
    tokio::join!(rig.put("a"), rig.put("b"));
    let got = tokio::join!(first, second);
    assert_eq!((got.0.1, got.1.1), (Duration::ZERO, Duration::ZERO));
}

#[tokio::test(start_paused = true)]
async fn a_waiting_receive_learns_of_an_earlier_message() {
    let rig = Rig::new().await;
    let change = async {
        pass(&rig, 1).await;
        rig.put_with("a", 20 * SECOND, None).await;
        let b = rig.put_with("b", 30 * SECOND, None).await;
        pass(&rig, 1).await;
        rig.update(&b, 5 * SECOND, None).await.unwrap();
        pass(&rig, 9).await;
    };
    let ((got, took), ()) = tokio::join!(wait(&rig), change);
    assert_eq!(got, ["b"]);
    assert!(took < 9 * SECOND, "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_receive_after_a_restart_waits_for_a_hidden_message() {
    let mut rig = Rig::new().await;
    rig.put_with("a", 5 * SECOND, None).await;
    rig.restart();
    let ((got, took), ()) = tokio::join!(wait(&rig), pass(&rig, 9));
    assert_eq!(got, ["a"]);
    assert!(took < 7 * SECOND, "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_waiting_receive_goes_on_after_a_clear() {
    let rig = Rig::new().await;
    let change = async {
        pass(&rig, 1).await;
        let (account, queue) = (account(), name("work"));
        let cleared = rig.service.clear_messages(&account, &queue).await;
        cleared.unwrap();
        pass(&rig, 1).await;
        let cleared = rig.service.queue(&account, &queue).await.unwrap();
        let message = PutMessage {
            text: "a".into(),
            visibility_timeout: Duration::ZERO,
            time_to_live: None,
        };
        rig.service.put_message(&cleared, message).await.unwrap();
    };
    let ((got, took), ()) = tokio::join!(wait(&rig), change);
    assert_eq!((got, took.as_secs()), (vec!["a".to_owned()], 2));
}

#[tokio::test(start_paused = true)]
async fn a_waiting_receive_ends_with_its_queue() {
    let rig = Rig::new().await;
    let (began, hour) = (Instant::now(), 3600 * SECOND);
    let get = rig
        .service
        .get_messages_within(&rig.queue, 1, hour, hour, pending());
    let delete = async {
        pass(&rig, 1).await;
        let deleted = rig.service.delete_queue(&account(), &name("work")).await;
        deleted.unwrap();
    };
    let (got, ()) = tokio::join!(get, delete);
    assert!(matches!(got, Err(crate::Error::QueueNotFound)), "{got:?}");
    assert_eq!(began.elapsed().as_secs(), 1);
}

/// A receive whose wait is ended has all that is visible at that time, and nothing that it takes is lost.
#[tokio::test(start_paused = true)]
async fn a_wait_that_is_ended_returns_what_it_has_taken() {
    let rig = Rig::new().await;
    let hour = 3600 * SECOND;
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let ended = async { ended.await.unwrap() };
    let get = rig
        .service
        .get_messages_within(&rig.queue, 1, hour, hour, ended);
    let mut get = pin!(get);
    assert!(poll_once(get.as_mut()).await.is_pending());
    rig.put("a").await;
    // It takes the message, and is then told to end.
    assert!(poll_once(get.as_mut()).await.is_pending());
    end.send(()).unwrap();
    assert_eq!(texts(&get.await.unwrap()), ["a"]);

    let now = std::future::ready(());
    let get = rig
        .service
        .get_messages_within(&rig.queue, 1, hour, hour, now);
    assert!(get.await.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_queue_with_a_waiting_receive_stays_in_memory() {
    let rig = Rig::new().await;
    let work = async {
        pass(&rig, 1).await;
        for number in 0..3000 {
            let queue = partita_model::QueueId(number);
            let space = partita_model::QueueSpace::new("other", queue);
            rig.service.open_queue(&crate::Queue {
                space,
                ..(*rig.queue).clone()
            });
        }
        rig.put("a").await;
    };
    let ((got, took), ()) = tokio::join!(wait(&rig), work);
    assert_eq!((got, took.as_secs()), (vec!["a".to_owned()], 1));
}
