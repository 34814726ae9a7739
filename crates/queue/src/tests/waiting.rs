//! Receives that wait for a message, and receives whose caller goes away. tokio's time is virtual here.

use super::{Rig, SECOND, texts};
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;

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
