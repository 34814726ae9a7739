use super::proxy::Proxy;
use super::*;

/// A pair with a proxy between.
async fn through_proxy() -> (Pair, Proxy) {
    let mut pair = Pair::start(patient()).await;
    let unlimited = Box::new(|| usize::MAX);
    let proxy = Proxy::start(pair.address.clone(), unlimited, &pair.client_tasks).await;
    pair.address = proxy.address.clone();
    (pair, proxy)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_before_the_answer_is_unknown() {
    let (pair, proxy) = through_proxy().await;
    let sending = pair.send("wait");
    pair.handler.wait_for(b"wait").await;
    proxy.cut();
    let broken = sending.await.unwrap();
    assert!(is_unknown(&broken), "{broken:?}");
    pair.handler.wait_for_dropped(1).await;
    assert!(
        pair.send("next").await.unwrap().is_ok(),
        "over a new connection"
    );
}

/// The peer does not say whether it was executed.
#[tokio::test(flavor = "multi_thread")]
async fn a_panic_of_the_handler_is_unknown_and_ends_one_request() {
    let pair = Pair::start(patient()).await;
    let other = pair.send("wait");
    pair.handler.wait_for(b"wait").await;
    for class in [Class::Small, Class::Bulk] {
        let panicked = pair.peer().send(class, b"panic", Bytes::new()).await;
        assert!(is_unknown(&panicked), "{panicked:?}");
    }
    pair.handler.may_answer.0.add_permits(1);
    assert!(other.await.unwrap().is_ok(), "over the same connection");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_in_the_middle_of_an_answer_breaks_its_body() {
    let (pair, proxy) = through_proxy().await;
    let pages = pair.peer().send(Class::Bulk, b"page", Bytes::new()).await;
    let mut body = pages.unwrap().body;
    // More than the windows and the buffers of the sockets hold: the rest is not sent before this is read.
    let larger = Bytes::from(vec![1; 32 << 20]);
    let echo = pair.peer().send(Class::Bulk, b"echo", larger).await;
    let mut large = echo.unwrap().body;
    assert!(large.frame().await.unwrap().is_some());
    assert!(body.frame().await.unwrap().is_some());
    proxy.cut();
    let mut received = 0;
    let error = loop {
        match large.frame().await {
            Ok(Some(frame)) => received += frame.len(),
            Ok(None) => panic!("complete after {received} bytes"),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, BodyError::Broken(_)), "{error}");
}
