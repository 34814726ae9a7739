//! Tests of retries and errors of queues when a server fails.

use crate::faults::QUICK;
use crate::faulty_server::{Act, FaultyServer, status};
use crate::queues::with_queue;
use partita_client::{
    ClientOptions, DateTime, ErrorCode, ErrorKind, Guid, Outcome, QueueClient, QueueServiceClient,
    ReceiveOptions,
};
use partita_server::Server;
use partita_wire::Version;
use partita_wire::queue::{MessageFields, MessageView, write_messages};
use std::net::SocketAddr;
use std::time::Duration;

const ID: &str = "abababab-abab-abab-abab-abababababab";
const RECEIPT: &str = "AgAAAAMAAAAAAAAA";

fn queue(address: SocketAddr, options: ClientOptions) -> QueueClient {
    let key = partita_server::config::WELL_KNOWN_KEY;
    let text = format!(
        "AccountName=devstoreaccount1;AccountKey={key};QueueEndpoint=http://{address}/devstoreaccount1"
    );
    let service = QueueServiceClient::from_connection_string_with(&text, options).unwrap();
    service.queue_client("jobs")
}

fn quick() -> ClientOptions {
    ClientOptions {
        retry: QUICK,
        ..ClientOptions::default()
    }
}

/// A server with this script, and a client of it.
async fn scripted(script: impl IntoIterator<Item = Act>) -> (FaultyServer, QueueClient) {
    let faulty = FaultyServer::start(script, None).await;
    let queue = queue(faulty.address, quick());
    (faulty, queue)
}

/// A real server with the queue, and a failing server in front of it, each with a client.
async fn behind(
    script: impl IntoIterator<Item = Act>,
) -> (Server, QueueClient, FaultyServer, QueueClient) {
    let (real, straight) = with_queue().await;
    let faulty = FaultyServer::start(script, real.listening().queue).await;
    let through = queue(faulty.address, quick());
    (real, straight, faulty, through)
}

/// An answer of 404 with this code.
fn not_found(code: &str) -> Act {
    let body = format!("<Error><Code>{code}</Code><Message>It is gone.</Message></Error>");
    Act::Answer("404 Not Found\r\n".to_owned(), body)
}

/// An answer of Get Messages with these texts.
fn messages(texts: &[&str]) -> Act {
    let fields = texts.iter().map(|text| MessageFields {
        id: Guid([0xAB; 16]),
        inserted: DateTime::UNIX_EPOCH,
        expires: DateTime::MAX,
        receipt: RECEIPT,
        next_visible: DateTime::UNIX_EPOCH,
        dequeue_count: 3,
        text: text.as_bytes(),
    });
    let mut body = Vec::new();
    let version = Version::parse("2019-02-02").unwrap();
    write_messages(MessageView::Get, version, fields, &mut body);
    Act::Answer("200 OK\r\n".to_owned(), String::from_utf8(body).unwrap())
}

/// The values of `x-partita-wait-seconds` in the heads of requests.
fn waits(faulty: &FaultyServer) -> Vec<Option<String>> {
    let wait = |head: &String| {
        let mut lines = head.lines();
        lines.find_map(|line| Some(line.strip_prefix("x-partita-wait-seconds: ")?.to_owned()))
    };
    faulty.heads().iter().map(wait).collect()
}

#[tokio::test]
async fn a_delete_that_may_have_met_its_own_effect_succeeds() {
    for lost in [Act::Close, status(500), status(504)] {
        let (faulty, queue) = scripted([lost, not_found("MessageNotFound")]).await;
        queue.delete_message(ID, RECEIPT).await.unwrap();
        assert_eq!(faulty.methods(), ["DELETE", "DELETE"]);
    }
    // Without a lost answer, another receiver has the message, or has deleted it.
    let (_faulty, queue) = scripted([status(503), not_found("MessageNotFound")]).await;
    let error = queue.delete_message(ID, RECEIPT).await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::MessageNotFound));
    assert_eq!(error.outcome(), Outcome::DidNotHappen);
    // Without the queue, the message may never have existed.
    let (_faulty, queue) = scripted([Act::Close, not_found("QueueNotFound")]).await;
    let error = queue.delete_message(ID, RECEIPT).await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::QueueNotFound));
    assert_eq!(error.outcome(), Outcome::MayHaveHappened);
}

#[tokio::test]
async fn an_update_that_may_have_met_its_own_effect_fails() {
    let (_faulty, queue) = scripted([Act::Close, not_found("MessageNotFound")]).await;
    let updated = queue.update_message(ID, RECEIPT, Duration::from_secs(60), None);
    let error = updated.await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::MessageNotFound));
    assert_eq!(error.outcome(), Outcome::MayHaveHappened);
    // The server did not send the new receipt, without which the message cannot be deleted.
    let (_faulty, queue) = scripted([status(204)]).await;
    let updated = queue.update_message(ID, RECEIPT, Duration::ZERO, Some("x"));
    let error = updated.await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreadable);
    assert_eq!(error.outcome(), Outcome::MayHaveHappened);
}

#[tokio::test]
async fn unreadable_answers_are_errors() {
    let answer = |body: &str| Act::Answer("200 OK\r\n".to_owned(), body.to_owned());
    for body in [
        "<",
        "<Other/>",
        "<QueueMessagesList><QueueMessage/></QueueMessagesList>",
    ] {
        let (_faulty, queue) = scripted([answer(body)]).await;
        let error = queue.receive_messages(&ReceiveOptions::default()).await;
        let error = error.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unreadable, "{body}");
        assert_eq!(error.outcome(), Outcome::MayHaveHappened, "{body}");
        let error = queue.peek_messages(1).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unreadable, "{body}");
        assert_eq!(error.outcome(), Outcome::DidNotHappen, "{body}");
    }
    // A server of an old version does not return the receipt of a new message.
    let (_faulty, queue) = scripted([answer("")]).await;
    let error = queue.send_message("x").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreadable);
    let error = queue.get_properties().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreadable);
}

#[tokio::test]
async fn invalid_arguments_are_not_sent() {
    let (faulty, queue) = scripted([status(204)]).await;
    // The message with an empty id would be all messages.
    let error = queue.delete_message("", RECEIPT).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Input);
    for text in ["\u{0}", &"x".repeat(65_537)] {
        let error = queue.send_message(text).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Input);
        let updated = queue.update_message(ID, RECEIPT, Duration::ZERO, Some(text));
        assert_eq!(updated.await.unwrap_err().kind(), ErrorKind::Input);
    }
    assert_eq!(faulty.heads().len(), 0);
}

#[tokio::test]
async fn a_poll_asks_until_there_are_messages() {
    let (faulty, queue) = scripted([messages(&[]), messages(&[]), messages(&["a", "b"])]).await;
    let mut poll = queue.poll_messages(ReceiveOptions {
        wait: Duration::from_secs(60),
        ..ReceiveOptions::default()
    });
    let received = poll.next().await.unwrap();
    let texts: Vec<_> = received.iter().map(|message| &*message.text).collect();
    assert_eq!(texts, ["a", "b"]);
    assert_eq!((&*received[0].id, received[0].dequeue_count), (ID, 3));
    // The server may wait for half of the attempt's 35 s.
    assert_eq!(waits(&faulty), vec![Some("17".to_owned()); 3]);
}

#[tokio::test]
async fn a_server_is_asked_to_wait_only_within_the_timeouts() {
    let faulty = FaultyServer::start([messages(&["a"])], None).await;
    let wait = |attempt: u64, operation: Option<u64>| ClientOptions {
        attempt_timeout: Duration::from_secs(attempt),
        operation_timeout: operation.map(Duration::from_secs),
        ..quick()
    };
    for options in [wait(60, None), wait(60, Some(10)), wait(60, Some(1))] {
        let options = queue(faulty.address, options);
        let long = ReceiveOptions {
            wait: Duration::from_secs(60),
            ..ReceiveOptions::default()
        };
        options.receive_messages(&long).await.unwrap();
        options
            .receive_messages(&ReceiveOptions::default())
            .await
            .unwrap();
    }
    let expected = [Some("20"), None, Some("5"), None, None, None];
    assert_eq!(waits(&faulty), expected.map(|wait| wait.map(str::to_owned)));
}

#[tokio::test]
async fn a_delete_whose_answer_is_lost_is_done() {
    let (real, straight, faulty, through) = behind([Act::ForwardAndClose, Act::Forward]).await;
    let sent = straight.send_message("once").await.unwrap();
    through
        .delete_message(&sent.id, &sent.receipt)
        .await
        .unwrap();
    assert_eq!(faulty.methods(), ["DELETE", "DELETE"]);
    let error = through.delete_message(&sent.id, &sent.receipt).await;
    assert_eq!(error.unwrap_err().code(), Some(ErrorCode::MessageNotFound));
    real.stop().await;
}

#[tokio::test]
async fn a_put_whose_answer_is_lost_puts_twice() {
    let (real, straight, faulty, through) = behind([Act::ForwardAndClose, Act::Forward]).await;
    through.send_message("twice").await.unwrap();
    assert_eq!(faulty.methods(), ["POST", "POST"]);
    let texts = straight.peek_messages(32).await.unwrap();
    let texts: Vec<_> = texts.iter().map(|message| &*message.text).collect();
    assert_eq!(texts, ["twice", "twice"]);
    real.stop().await;
}

#[tokio::test]
async fn messages_of_a_lost_answer_are_hidden() {
    let (real, straight, _faulty, through) = behind([Act::ForwardAndClose, Act::Forward]).await;
    for text in ["first", "second"] {
        straight.send_message(text).await.unwrap();
    }
    let received = through.receive_messages(&ReceiveOptions::default()).await;
    assert_eq!(received.unwrap()[0].text, "second");
    assert_eq!(straight.peek_messages(32).await.unwrap(), []);
    let count = straight.get_properties().await.unwrap().message_count_max;
    assert_eq!(count, 2);
    real.stop().await;
}

#[tokio::test]
async fn an_update_whose_answer_is_lost_changes_the_receipt() {
    let (real, straight, _faulty, through) = behind([Act::ForwardAndClose, Act::Forward]).await;
    let sent = straight.send_message("old").await.unwrap();
    let updated = through.update_message(&sent.id, &sent.receipt, Duration::ZERO, Some("new"));
    let error = updated.await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::MessageNotFound));
    assert_eq!(error.outcome(), Outcome::MayHaveHappened);
    assert_eq!(straight.peek_messages(1).await.unwrap()[0].text, "new");
    real.stop().await;
}
