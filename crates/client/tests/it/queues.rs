//! All operations on queues against a real server.

use crate::{samples, server};
use futures::TryStreamExt as _;
use partita_client::{
    AccountSasTerms, ClientOptions, Credential, DateTime, ErrorCode, ErrorKind, ListQueuesOptions,
    MessageExpiry, Metadata, QueueClient, QueueCreated, QueueList, QueueSasTerms,
    QueueServiceClient, ReceiveOptions, SasTerms, SendOptions, ServiceProperties,
};
use partita_server::Server;
use std::time::Duration;

async fn started() -> (Server, QueueServiceClient) {
    let server = server::start(&[]).await;
    let text = server::connection_string(&server);
    let client = QueueServiceClient::from_connection_string(&text).unwrap();
    (server, client)
}

/// A real server with the queue `jobs`.
pub(crate) async fn with_queue() -> (Server, QueueClient) {
    let (server, client) = started().await;
    let queue = client.create_queue("jobs").await.unwrap();
    (server, queue)
}

fn metadata(pairs: &[(&str, &str)]) -> Metadata {
    let mut metadata = Metadata::default();
    for (name, value) in pairs {
        metadata.add(name, value).unwrap();
    }
    metadata
}

fn receive(count: u32) -> ReceiveOptions {
    ReceiveOptions {
        count,
        ..ReceiveOptions::default()
    }
}

async fn peeked(queue: &QueueClient) -> Vec<String> {
    let messages = queue.peek_messages(32).await.unwrap();
    messages.into_iter().map(|message| message.text).collect()
}

#[tokio::test]
async fn queues_are_created_listed_and_deleted() {
    let (server, client) = started().await;
    let red = metadata(&[("Color", "red"), ("size", "two words")]);
    let bees = client.queue_client("bees");
    assert_eq!(bees.create(&red).await.unwrap(), QueueCreated::New);
    assert_eq!(bees.create(&red).await.unwrap(), QueueCreated::Existed);
    let error = client.create_queue("bees").await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::QueueAlreadyExists));
    assert!(error.is_conflict());
    client.create_queue_if_not_exists("bees").await.unwrap();
    for name in ["ants", "bugs", "cats"] {
        client.create_queue_if_not_exists(name).await.unwrap();
    }
    let listed = |prefix: &str, include_metadata| {
        client.list_queues(ListQueuesOptions {
            prefix: prefix.to_owned(),
            include_metadata,
            page_queues_max: Some(1),
            marker: None,
        })
    };
    let all: Vec<_> = listed("", false).try_collect().await.unwrap();
    let names: Vec<_> = all.iter().map(|queue| &*queue.name).collect();
    assert_eq!(names, ["ants", "bees", "bugs", "cats"]);
    assert_eq!(all[1].metadata, Metadata::default());
    let some: Vec<_> = listed("b", true).try_collect().await.unwrap();
    assert_eq!((some.len(), &some[0].metadata), (2, &red));

    let pages = ListQueuesOptions {
        page_queues_max: Some(3),
        ..ListQueuesOptions::default()
    };
    let all: Vec<QueueList> = client
        .list_queue_pages(pages.clone())
        .try_collect()
        .await
        .unwrap();
    let sizes: Vec<usize> = all.iter().map(|page| page.queues.len()).collect();
    assert_eq!(sizes, [3, 1]);
    let marker = all[0].next_marker.clone();
    let resumed = ListQueuesOptions { marker, ..pages };
    let rest = client.list_queues_page(&resumed).await.unwrap();
    assert_eq!(rest, all[1]);

    client.delete_queue("bees").await.unwrap();
    let error = client.delete_queue("bees").await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::QueueNotFound));
    for name in ["Bees", "a", "a--b", "a/b", "x?y", "é"] {
        let error = client.create_queue(name).await.unwrap_err();
        assert_eq!(error.status(), Some(400), "{name}");
    }
    server.stop().await;
}

#[tokio::test]
async fn metadata_is_replaced() {
    let (server, queue) = with_queue().await;
    let empty = queue.get_properties().await.unwrap();
    assert_eq!(
        (empty.metadata, empty.message_count_max),
        (Metadata::default(), 0)
    );
    let sent = metadata(&[("a", "1"), ("B_2", "x = \"y\", z")]);
    queue.set_metadata(&sent).await.unwrap();
    queue.send_message("x").await.unwrap();
    let read = queue.get_properties().await.unwrap();
    assert_eq!((read.metadata, read.message_count_max), (sent, 1));
    queue.set_metadata(&Metadata::default()).await.unwrap();
    let read = queue.get_properties().await.unwrap();
    assert_eq!(read.metadata, Metadata::default());
    server.stop().await;
}

#[tokio::test]
async fn messages_are_put_received_updated_and_deleted() {
    let (server, queue) = with_queue().await;
    let text = "  <a> & \"é\" \u{1F600}\r\n\tend ";
    let sent = queue.send_message(text).await.unwrap();
    assert!(sent.expires > sent.inserted);
    assert_eq!(peeked(&queue).await, [text]);

    let received = queue.receive_messages(&receive(32)).await.unwrap();
    let [message] = &received[..] else {
        panic!("one message is visible: {received:?}");
    };
    assert_eq!((&message.id, &*message.text), (&sent.id, text));
    assert_eq!(
        (message.inserted, message.expires),
        (sent.inserted, sent.expires)
    );
    assert_eq!(message.dequeue_count, 1);
    assert!(message.next_visible > message.inserted);
    assert_eq!(queue.receive_messages(&receive(32)).await.unwrap(), []);
    let stale = queue.delete_message(&sent.id, &sent.receipt).await;
    assert_eq!(stale.unwrap_err().code(), Some(ErrorCode::MessageNotFound));

    // The timeout is extended, then the message is returned with another text.
    let extended = queue
        .update_message(
            &message.id,
            &message.receipt,
            Duration::from_secs(600),
            None,
        )
        .await
        .unwrap();
    assert!(extended.next_visible > message.next_visible);
    let returned = queue
        .update_message(
            &message.id,
            &extended.receipt,
            Duration::ZERO,
            Some("again"),
        )
        .await
        .unwrap();
    let peek = queue.peek_messages(1).await.unwrap();
    assert_eq!((&*peek[0].text, peek[0].dequeue_count), ("again", 1));
    assert_eq!(peek[0].id, sent.id);
    queue
        .delete_message(&sent.id, &returned.receipt)
        .await
        .unwrap();
    assert_eq!(peeked(&queue).await, [""; 0]);

    let malformed = queue.delete_message(&sent.id, "invalid").await.unwrap_err();
    assert_eq!(
        malformed.code(),
        Some(ErrorCode::InvalidQueryParameterValue)
    );
    server.stop().await;
}

#[tokio::test]
async fn options_of_messages_are_sent() {
    let (server, queue) = with_queue().await;
    let hidden = SendOptions {
        visibility_timeout: Duration::from_secs(3_600),
        expiry: MessageExpiry::Never,
    };
    let sent = queue.send_message_with("later", hidden).await.unwrap();
    assert!(sent.next_visible > sent.inserted);
    assert!(sent.expires > DateTime::parse("9999-12-31T00:00:00Z").unwrap());
    assert_eq!(peeked(&queue).await, [""; 0]);
    let short = SendOptions {
        expiry: MessageExpiry::After(Duration::from_secs(90)),
        ..SendOptions::default()
    };
    let sent = queue.send_message_with("short", short).await.unwrap();
    assert_eq!(
        sent.expires.ticks() - sent.inserted.ticks(),
        90 * 10_000_000
    );

    let error = queue.receive_messages(&receive(33)).await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::OutOfRangeQueryParameterValue));
    let never = SendOptions {
        visibility_timeout: Duration::from_secs(60),
        expiry: MessageExpiry::After(Duration::from_secs(60)),
    };
    let error = queue.send_message_with("x", never).await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::InvalidQueryParameterValue));

    queue.clear_messages().await.unwrap();
    assert_eq!(queue.get_properties().await.unwrap().message_count_max, 0);
    server.stop().await;
}

#[tokio::test]
async fn the_largest_texts_fit() {
    let (server, queue) = with_queue().await;
    let largest = "é".repeat(32_768);
    for _ in 0..32 {
        queue.send_message(&largest).await.unwrap();
    }
    let received = queue.receive_messages(&receive(32)).await.unwrap();
    assert_eq!(received.len(), 32);
    assert!(received.iter().all(|message| message.text == largest));
    server.stop().await;
}

#[tokio::test]
async fn a_poll_receives_messages_that_arrive_later() {
    let (server, queue) = with_queue().await;
    let mut poll = queue.poll_messages(ReceiveOptions {
        wait: Duration::from_secs(20),
        ..receive(32)
    });
    let (received, sent) = tokio::join!(poll.next(), queue.send_message("later"));
    let received = received.unwrap();
    assert_eq!(received.len(), 1);
    assert_eq!(received[0].id, sent.unwrap().id);
    server.stop().await;
}

#[tokio::test]
async fn missing_queues_have_their_code() {
    let (server, client) = started().await;
    let queue = client.queue_client("missing");
    let codes = [
        queue.get_properties().await.unwrap_err().code(),
        queue
            .set_metadata(&Metadata::default())
            .await
            .unwrap_err()
            .code(),
        queue.get_access_policy().await.unwrap_err().code(),
        queue.send_message("x").await.unwrap_err().code(),
        queue
            .receive_messages(&receive(1))
            .await
            .unwrap_err()
            .code(),
        queue.peek_messages(1).await.unwrap_err().code(),
        queue.clear_messages().await.unwrap_err().code(),
    ];
    assert_eq!(codes, [Some(ErrorCode::QueueNotFound); 7]);
    server.stop().await;
}

#[tokio::test]
async fn service_properties_and_policies_round_trip() {
    let (server, client) = started().await;
    let defaults = client.get_service_properties().await.unwrap();
    assert_eq!(defaults, ServiceProperties::default());
    let properties = samples::properties();
    client.set_service_properties(&properties).await.unwrap();
    assert_eq!(client.get_service_properties().await.unwrap(), properties);
    assert_eq!(client.get_service_stats().await.unwrap().status, "live");

    let queue = client.create_queue("policed").await.unwrap();
    assert_eq!(queue.get_access_policy().await.unwrap(), []);
    let policy = samples::policy("rap");
    let policies = std::slice::from_ref(&policy);
    queue.set_access_policy(policies).await.unwrap();
    assert_eq!(queue.get_access_policy().await.unwrap(), [policy]);
    server.stop().await;
}

#[tokio::test]
async fn signatures_grant_only_what_they_permit() {
    let (server, queue) = with_queue().await;
    let text = server::connection_string(&server);
    let owner = QueueServiceClient::from_connection_string(&text).unwrap();
    let with_sas = |sas: &str| {
        let endpoint = queue.endpoint().clone();
        QueueServiceClient::new(endpoint, Credential::sas(sas), ClientOptions::default()).unwrap()
    };
    let terms = SasTerms {
        expiry: Some(DateTime::parse("2999-01-01T00:00:00Z").unwrap()),
        ..SasTerms::default()
    };
    let account = AccountSasTerms {
        permissions: "l".to_owned(),
        resource_types: "s".to_owned(),
        terms: terms.clone(),
    };
    let lister = with_sas(&owner.generate_sas(&account).unwrap());
    let queues = lister.list_queues(ListQueuesOptions::default());
    let queues: Vec<_> = queues.try_collect().await.unwrap();
    assert_eq!(queues[0].name, "jobs");
    let error = lister.create_queue("other").await.unwrap_err();
    assert_eq!(error.status(), Some(403));
    let error = lister.generate_sas(&account).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Credential);

    let sas = QueueSasTerms {
        queue: String::new(),
        permissions: "ap".to_owned(),
        policy_id: None,
        terms,
    };
    let guest = with_sas(&queue.generate_sas(&sas).unwrap()).queue_client("jobs");
    guest.send_message("signed").await.unwrap();
    let received = guest.receive_messages(&receive(1)).await.unwrap();
    let [message] = &received[..] else {
        panic!("one message is visible: {received:?}");
    };
    guest
        .delete_message(&message.id, &message.receipt)
        .await
        .unwrap();
    let error = guest.peek_messages(1).await.unwrap_err();
    assert_eq!(
        error.code(),
        Some(ErrorCode::AuthorizationPermissionMismatch)
    );

    let wrong = Credential::shared_key("devstoreaccount1", "d3Jvbmc=").unwrap();
    let endpoint = queue.endpoint().clone();
    let intruder = QueueServiceClient::new(endpoint, wrong, ClientOptions::default()).unwrap();
    let error = intruder
        .queue_client("jobs")
        .send_message("x")
        .await
        .unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::AuthenticationFailed));
    server.stop().await;
}
