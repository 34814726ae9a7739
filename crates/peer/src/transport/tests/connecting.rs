use partita_rt::ManualClock;
use tokio::io::AsyncWriteExt as _;

use super::*;

const DAY: Duration = Duration::from_secs(86_400);

fn text(result: Result<Answer, SendError>) -> String {
    let error = result.expect_err("it connects");
    assert!(matches!(error, SendError::NotProcessed(_)), "{error}");
    error.to_string()
}

/// A server `b` with one key and clock, called by `a` with another, under a name.
async fn call(
    server: (&ClusterKey, Arc<dyn Clock>),
    client: (&ClusterKey, Arc<dyn Clock>),
    called: &str,
) -> (Arc<TestHandler>, Result<Answer, SendError>) {
    let network: Arc<dyn Network> = Arc::new(MachineNetwork);
    let server_identity = identity(server.0, "b", server.1);
    let (handler, address, tasks) = serve(&network, &server_identity, patient()).await;
    let client_identity = identity(client.0, "a", client.1);
    let peers = Peers::new(client_identity, network, patient(), Tasks::new());
    let peer = peers.peer(&name(called), &address).unwrap();
    let result = peer.send(Class::Small, b"hello", Bytes::new()).await;
    tasks.shut_down();
    (handler, result)
}

fn now() -> Arc<dyn Clock> {
    Arc::new(SystemClock)
}

/// A clock that is off by this many days; negative is behind.
fn off_by(days: i32) -> Arc<dyn Clock> {
    let off = DAY * days.unsigned_abs();
    let now = SystemClock.now();
    Arc::new(ManualClock::new(if days < 0 {
        now - off
    } else {
        now + off
    }))
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_with_different_keys_refuse_each_other() {
    let (ours, theirs) = (ClusterKey::create().unwrap(), ClusterKey::create().unwrap());
    let (handler, result) = call((&theirs, now()), (&ours, now()), "b").await;
    let text = text(result);
    let fingerprint = ours.fingerprint();
    assert!(
        text.contains("server b at 127.0.0.1:") && text.contains("has another cluster key"),
        "{text}"
    );
    assert!(
        text.contains(fingerprint) && text.contains("copy the file of --cluster-key"),
        "{text}"
    );
    assert_eq!(handler.times_seen(b"hello"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_of_another_name_is_refused() {
    let key = ClusterKey::create().unwrap();
    let (_, result) = call((&key, now()), (&key, now()), "c").await;
    let text = text(result);
    assert!(
        text.contains("is named b, not c: check --server-name and --advertise"),
        "{text}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_certificate_is_refused_by_both_sides() {
    let key = ClusterKey::create().unwrap();
    // The server's clock is behind by more than a certificate is valid.
    let (_, result) = call((&key, off_by(-30)), (&key, now()), "b").await;
    let error = text(result);
    assert!(
        error.contains("has expired or is not valid yet") && error.contains("NTP"),
        "{error}"
    );
    // The client's certificate has expired by the clock of the server, and so has the server's by the client's: the
    // client looks first.
    let (_, result) = call((&key, now()), (&key, off_by(30)), "b").await;
    assert!(text(result).contains("set the clocks of both servers"));
}

/// The certificate of the client is not valid yet by the server's clock, while that of the server is by the client's.
#[tokio::test(flavor = "multi_thread")]
async fn the_server_says_why_it_refuses_a_client() {
    let key = ClusterKey::create().unwrap();
    let (handler, result) = call((&key, off_by(-2)), (&key, now()), "b").await;
    let text = text(result);
    assert!(
        text.contains("refused the certificate of this server"),
        "{text}"
    );
    assert!(text.contains("set the clocks of both servers"), "{text}");
    assert_eq!(handler.times_seen(b"hello"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_is_renewed_before_it_expires() {
    let key = ClusterKey::create().unwrap();
    let clock = ManualClock::new(SystemClock.now());
    let network: Arc<dyn Network> = Arc::new(MachineNetwork);
    let server_identity = identity(&key, "b", Arc::new(clock.clone()));
    let (_, address, _) = serve(&network, &server_identity, patient()).await;
    let client_identity = identity(&key, "a", Arc::new(clock.clone()));
    clock.advance(30 * DAY);
    let peers = Peers::new(client_identity, network, patient(), Tasks::new());
    let peer = peers.peer(&name("b"), &address).unwrap();
    peer.send(Class::Small, b"hello", Bytes::new())
        .await
        .unwrap();
}

/// A client of a peer at a port where the test answers.
async fn error_with_another_server(settings: Settings, answer: &'static [u8]) -> String {
    let listener = MachineNetwork.listen("127.0.0.1", 0).await.unwrap();
    let address = listener.address().unwrap().to_string().parse().unwrap();
    let key = ClusterKey::create().unwrap();
    let peers = Peers::new(
        identity(&key, "a", now()),
        Arc::new(MachineNetwork),
        settings,
        Tasks::new(),
    );
    let peer = peers.peer(&name("b"), &address).unwrap();
    let answering = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(answer).await.unwrap();
        stream
    };
    let (sent, _stream) = tokio::join!(peer.send(Class::Small, b"hello", Bytes::new()), answering);
    text(sent)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_of_something_else_is_named() {
    let text = error_with_another_server(patient(), b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
    assert!(
        text.contains("is not a peer of this cluster: check the port"),
        "{text}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_that_does_not_answer_times_out() {
    let settings = Settings {
        connect_timeout: Duration::from_millis(20),
        ..Settings::default()
    };
    let text = error_with_another_server(settings, b"").await;
    assert!(text.contains("timed out after 20ms"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_run_is_unreachable() {
    let pair = Pair::start(patient()).await;
    pair.server_tasks.drain(Duration::from_secs(60)).await;
    let text = text(pair.send("hello").await.unwrap());
    assert!(
        text.contains("cannot connect to server b at 127.0.0.1:"),
        "{text}"
    );
    assert!(text.contains("check that it runs"), "{text}");
}
