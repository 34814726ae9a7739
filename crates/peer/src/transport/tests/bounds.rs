use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_has_a_limited_number_of_requests() {
    let settings = Settings {
        streams_max: 2,
        small_connections: 1,
        ..patient()
    };
    let pair = Pair::start(settings).await;
    let first = pair.send("wait 1");
    let second = pair.send("wait 2");
    pair.handler.wait_for(b"wait 1").await;
    pair.handler.wait_for(b"wait 2").await;
    let third = pair.send("third").await.unwrap().unwrap_err();
    assert!(
        matches!(third, SendError::NotProcessed(NotProcessed::Streams)),
        "{third}"
    );
    let bulk = pair.peer().send(Class::Bulk, b"bulk", Bytes::new()).await;
    assert!(bulk.is_ok(), "bulk has its own connection");
    pair.handler.may_answer.0.add_permits(2);
    // The place is free when the body has ended.
    for answered in [first, second] {
        let body = answered.await.unwrap().unwrap().body;
        body.collect(0).await.unwrap();
    }
    assert!(pair.send("third").await.unwrap().is_ok());
    assert_eq!(pair.handler.times_seen(b"third"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_under_way_have_a_limited_size() {
    let settings = Settings {
        forwarded_bytes_max: 64 << 10,
        ..patient()
    };
    let pair = Pair::start(settings).await;
    let peer = pair.peer();
    let half = Bytes::from(vec![1; 33 << 10]);
    let (sender, body) = (peer.clone(), half.clone());
    let sending = async move { sender.send(Class::Small, b"wait", body).await };
    let sending = pair.client_tasks.spawn("test request", sending);
    pair.handler.wait_for(b"wait").await;
    let second = peer.send(Class::Small, b"second", half.clone()).await;
    let second = second.unwrap_err();
    assert!(
        matches!(second, SendError::NotProcessed(NotProcessed::Bytes)),
        "{second}"
    );
    assert!(
        peer.send(Class::Small, b"empty", Bytes::new())
            .await
            .is_ok()
    );
    pair.handler.may_answer.0.add_permits(1);
    sending.await.unwrap().unwrap();
    assert!(peer.send(Class::Small, b"second", half).await.is_ok());
    assert_eq!(pair.handler.times_seen(b"second"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_head_that_is_too_long_is_not_handled() {
    let settings = Settings {
        head_bytes_max: 100,
        ..patient()
    };
    let pair = Pair::start(settings).await;
    let long = [b'x'; 101];
    let refused = pair.peer().send(Class::Small, &long, Bytes::new()).await;
    assert!(is_unknown(&refused), "{refused:?}");
    assert_eq!(pair.handler.times_seen(&long), 0);
    assert!(
        pair.send("next").await.unwrap().is_ok(),
        "the connection stays"
    );
}

#[test]
fn a_dead_peer_is_found_within_a_second() {
    let settings = Settings::default();
    assert!(settings.ping_interval + settings.ping_timeout < Duration::from_secs(1));
}
