use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn requests_and_answers_of_all_sizes_pass() {
    let pair = Pair::start(patient()).await;
    let peer = pair.peer();
    for len in [0, 1, 1 << 10, 4 << 10, (4 << 10) + 1, 1 << 20, 20 << 20] {
        let body = Bytes::from(vec![len as u8; len]);
        let answer = peer.send(Class::Bulk, b"echo", body.clone()).await.unwrap();
        assert_eq!(answer.head, "a sent echo");
        let received = answer.body.collect(64 << 20).await.unwrap();
        assert!(received == body, "{len}");
    }
    let answer = peer.send(Class::Small, b"", Bytes::new()).await.unwrap();
    assert_eq!(answer.head, "a sent ");
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_come_in_frames_and_are_complete() {
    let pair = Pair::start(patient()).await;
    let sent = pair.peer().send(Class::Bulk, b"page", Bytes::new()).await;
    let mut body = sent.unwrap().body;
    let (mut bytes, mut frames) = (0, 0);
    while let Some(frame) = body.frame().await.unwrap() {
        assert!(frame.iter().all(|byte| *byte == 7));
        bytes += frame.len();
        frames += 1;
    }
    assert_eq!(bytes, PAGE_PIECES * PIECE_BYTES);
    assert!(frames > PAGE_PIECES, "{frames}");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_requests_share_a_connection() {
    let pair = Pair::start(patient()).await;
    let first = pair.send("wait 1");
    pair.handler.wait_for(b"wait 1").await;
    let answer = pair.send("quick").await.unwrap().unwrap();
    assert_eq!(
        answer.head, "a sent quick",
        "it does not wait for the first"
    );
    pair.handler.may_answer.0.add_permits(1);
    assert_eq!(first.await.unwrap().unwrap().head, "a sent wait 1");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_request_was_not_processed() {
    let pair = Pair::start(patient()).await;
    let refused = pair.send("refuse").await.unwrap().unwrap_err();
    assert!(
        matches!(refused, SendError::NotProcessed(NotProcessed::Refused)),
        "{refused}"
    );
}

/// A write of a client that has gone before it is submitted is not executed.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_is_given_up_is_dropped_by_the_peer() {
    let pair = Pair::start(patient()).await;
    let sending = pair.send("wait");
    pair.handler.wait_for(b"wait").await;
    sending.abort();
    pair.handler.wait_for_dropped(1).await;
    assert!(
        pair.send("next").await.unwrap().is_ok(),
        "the connection stays"
    );
}

/// A request that waits is answered by what it waited for, or after it was told to wait no longer.
#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_request_is_told_to_end() {
    let pair = Pair::start(patient()).await;
    let peer = pair.peer();
    let never = std::future::pending();
    let found = peer.send_waiting(Class::Bulk, b"first", never).await;
    assert_eq!(found.unwrap().head, "a sent first");
    let seen = pair.handler.wait_for(b"ended");
    let ended = peer.send_waiting(Class::Bulk, b"ended", seen).await;
    assert_eq!(ended.unwrap().head, "a sent ended");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_shuts_down_closes_with_its_last_request() {
    let pair = Pair::start(patient()).await;
    pair.send("before").await.unwrap().unwrap();
    let sending = pair.send("wait");
    pair.handler.wait_for(b"wait").await;
    pair.client_tasks.shut_down();
    pair.handler.may_answer.0.add_permits(1);
    assert_eq!(sending.await.unwrap().unwrap().head, "a sent wait");
    let unfinished = pair.client_tasks.drain(Duration::from_secs(60)).await;
    assert_eq!(unfinished, Vec::<&str>::new());
}

/// The answer to a request under way arrives; a later request is not processed, and can go elsewhere.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_shuts_down_answers_what_it_has_begun() {
    let pair = Pair::start(patient()).await;
    let begun = pair.send("wait");
    pair.handler.wait_for(b"wait").await;
    pair.server_tasks.shut_down();
    // The client may not know yet: then the request is not processed by GOAWAY, else it does not find a connection.
    let mut later = pair.send("later 0").await.unwrap();
    while later.is_ok() {
        later = pair.send("later").await.unwrap();
    }
    assert!(is_not_processed(&later), "{later:?}");
    pair.handler.may_answer.0.add_permits(1);
    assert_eq!(begun.await.unwrap().unwrap().head, "a sent wait");
    let unfinished = pair.server_tasks.drain(Duration::from_secs(60)).await;
    assert_eq!(unfinished, Vec::<&str>::new());
}
