//! Requests on messages.

use super::*;

#[tokio::test]
async fn a_message_is_put_received_updated_and_deleted() {
    let server = with_queue().await;
    let put = put(&server, "/jobs/messages", " a &lt;b&gt;&#xD; ").await;
    assert_eq!(put.status, 201);
    assert_eq!(put.header("content-type"), Some("application/xml"));
    assert_eq!(put.header("cache-control"), None);
    assert_eq!(
        (put.count("DequeueCount"), put.count("MessageText")),
        (0, 0)
    );
    let peeked = send(&server, "GET", "/jobs/messages?peekonly=true").await;
    assert_eq!(peeked.header("cache-control"), Some("no-cache"));
    assert_eq!(peeked.element("MessageText"), " a &lt;b&gt;&#xD; ");
    assert_eq!(peeked.element("DequeueCount"), "0");
    assert_eq!(
        (peeked.count("PopReceipt"), peeked.count("TimeNextVisible")),
        (0, 0)
    );

    let got = send(
        &server,
        "GET",
        "/jobs/messages?numofmessages=32&visibilitytimeout=600",
    )
    .await;
    assert_eq!((got.status, got.count("QueueMessage")), (200, 1));
    assert_eq!(got.element("DequeueCount"), "1");
    assert_eq!(got.element("MessageId"), put.element("MessageId"));
    assert_ne!(got.element("PopReceipt"), put.element("PopReceipt"));
    let hidden = send(&server, "GET", "/jobs/messages").await;
    assert_eq!(hidden.status, 200);
    assert!(hidden.body.ends_with("<QueueMessagesList />"), "{hidden:?}");

    // The first receipt is not valid any more.
    let stale = send(&server, "DELETE", &path_of(&put)).await;
    assert_eq!(stale.error(), (404, "MessageNotFound"));
    let path = format!("{}&visibilitytimeout=0", path_of(&got));
    let updated = send_with(&server, "PUT", &path, &[], message("new").as_bytes()).await;
    assert_eq!((updated.status, updated.body.as_str()), (204, ""));
    assert!(
        updated
            .header("x-ms-time-next-visible")
            .unwrap()
            .ends_with("gmt")
    );
    assert!(updated.header("x-ms-popreceipt").is_some());
    let again = send(&server, "GET", "/jobs/messages").await;
    assert_eq!(again.element("MessageText"), "new");
    assert_eq!(again.element("DequeueCount"), "2");
    assert_eq!(send(&server, "DELETE", &path_of(&again)).await.status, 204);
    let gone = send(&server, "DELETE", &path_of(&again)).await;
    assert_eq!(gone.error(), (404, "MessageNotFound"));
    server.stop().await;
}

#[tokio::test]
async fn the_receipt_of_put_updates_and_a_body_is_optional() {
    let server = with_queue().await;
    let put = put(&server, "/jobs/messages", "text").await;
    let path = format!("{}&visibilitytimeout=0", path_of(&put));
    assert_eq!(send(&server, "PUT", &path).await.status, 204);
    let peeked = send(&server, "GET", "/jobs/messages?peekonly=true").await;
    assert_eq!(peeked.element("MessageText"), "text");
    assert_eq!(peeked.element("DequeueCount"), "0");
    server.stop().await;
}

#[tokio::test]
async fn clearing_removes_every_message() {
    let server = with_queue().await;
    for text in ["a", "b", "c"] {
        assert_eq!(put(&server, "/jobs/messages", text).await.status, 201);
    }
    let all = send(
        &server,
        "GET",
        "/jobs/messages?peekonly=true&numofmessages=32",
    )
    .await;
    assert_eq!(all.count("QueueMessage"), 3);
    assert_eq!(send(&server, "DELETE", "/jobs/messages").await.status, 204);
    let none = send(
        &server,
        "GET",
        "/jobs/messages?peekonly=true&numofmessages=32",
    )
    .await;
    assert_eq!(none.count("QueueMessage"), 0);
    let metadata = send(&server, "GET", "/jobs?comp=metadata").await;
    assert_eq!(
        metadata.header("x-ms-approximate-messages-count"),
        Some("0")
    );
    server.stop().await;
}

#[tokio::test]
async fn a_message_of_a_missing_queue_is_not_found() {
    let server = started(&[]).await;
    let missing = put(&server, "/jobs/messages", "x").await;
    assert_eq!(missing.error(), (404, "QueueNotFound"));
    for (method, path) in [
        ("GET", "/jobs/messages"),
        ("GET", "/jobs/messages?peekonly=true"),
        ("DELETE", "/jobs/messages"),
    ] {
        let missing = send(&server, method, path).await;
        assert_eq!(missing.error(), (404, "QueueNotFound"), "{method} {path}");
    }
    // The body is read first.
    let malformed = put(&server, "/jobs/messages", "\u{1}").await;
    assert_eq!(malformed.error(), (400, "InvalidXmlDocument"));
    assert_eq!(malformed.element("Reason"), "Error parsing Xml content");
    server.stop().await;
}

#[tokio::test]
async fn ids_come_before_receipts() {
    let server = with_queue().await;
    let put = put(&server, "/jobs/messages", "x").await;
    let id = put.element("MessageId");
    let no_guid = send(
        &server,
        "DELETE",
        "/jobs/messages/no-guid?popreceipt=invalid",
    )
    .await;
    assert_eq!(no_guid.error(), (404, "MessageNotFound"));
    let path = format!("/jobs/messages/{id}?popreceipt=invalid");
    let no_receipt = send(&server, "DELETE", &path).await;
    assert_eq!(no_receipt.error(), (400, "InvalidQueryParameterValue"));
    assert_eq!(no_receipt.element("QueryParameterName"), "popreceipt");
    assert_eq!(no_receipt.element("Reason"), "Invalid pop receipt format");
    let missing = send(&server, "DELETE", &format!("/jobs/messages/{id}")).await;
    assert_eq!(missing.error(), (400, "MissingRequiredQueryParameter"));
    server.stop().await;
}

#[tokio::test]
async fn texts_bodies_and_times_have_limits() {
    let server = with_queue().await;
    let largest = "a".repeat(65_536);
    assert_eq!(put(&server, "/jobs/messages", &largest).await.status, 201);
    let longer = put(&server, "/jobs/messages", &format!("{largest}a")).await;
    assert_eq!(longer.error(), (413, "RequestBodyTooLarge"));
    assert_eq!(longer.element("MaxLimit"), "65536");
    let body = put(&server, "/jobs/messages", &"a".repeat(131_584)).await;
    assert_eq!(body.error(), (413, "RequestBodyTooLarge"));
    assert_eq!(body.element("MaxLimit"), "131584");
    let never = put(&server, "/jobs/messages?messagettl=-1", "x").await;
    assert_eq!(
        never.element("ExpirationTime"),
        "Fri, 31 Dec 9999 23:59:59 GMT"
    );
    let short = put(
        &server,
        "/jobs/messages?messagettl=5&visibilitytimeout=5",
        "x",
    )
    .await;
    assert_eq!(short.error(), (400, "InvalidQueryParameterValue"));
    let many = send(&server, "GET", "/jobs/messages?numofmessages=100").await;
    assert_eq!(many.error(), (400, "OutOfRangeQueryParameterValue"));
    assert_eq!(many.element("MaximumAllowed"), "32");

    let put = put(&server, "/jobs/messages?messagettl=60", "x").await;
    let path = format!("{}&visibilitytimeout=61", path_of(&put));
    let beyond = send(&server, "PUT", &path).await;
    assert_eq!(beyond.error(), (400, "InvalidQueryParameterValue"));
    assert_eq!(beyond.element("QueryParameterValue"), "61");
    server.stop().await;
}

#[tokio::test]
async fn old_versions_have_other_answers() {
    let server = with_queue().await;
    let version = |text| [("x-ms-version", text), ("x-ms-client-request-id", "mine")];
    let old = version("2015-04-05");
    let body = message("x");
    let put = send_with(&server, "POST", "/jobs/messages", &old, body.as_bytes()).await;
    assert_eq!((put.status, put.body.as_str()), (201, ""));
    assert_eq!(put.header("content-type"), None);
    assert_eq!(put.header("x-ms-version"), Some("2015-04-05"));
    assert_eq!(put.header("x-ms-client-request-id"), None);
    let missing = send_with(&server, "GET", "/other/messages", &old, b"").await;
    assert_eq!(missing.error(), (404, "QueueNotFound"));
    assert_eq!(missing.header("x-ms-error-code"), None);
    let newer = version("2018-03-28");
    let missing = send_with(&server, "GET", "/other/messages", &newer, b"").await;
    assert_eq!(missing.header("x-ms-error-code"), Some("queuenotfound"));
    assert_eq!(missing.header("x-ms-client-request-id"), None);
    server.stop().await;
}
