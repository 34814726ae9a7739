//! Requests on queues: creation, listing, metadata, policies.

use super::*;

#[tokio::test]
async fn a_queue_is_created_once_and_deleted_once() {
    let server = started(&[]).await;
    let metadata = [("x-ms-meta-a", "1"), ("x-ms-client-request-id", "mine")];
    let created = send_with(&server, "PUT", "/jobs", &metadata, b"").await;
    assert_eq!((created.status, created.body.as_str()), (201, ""));
    for absent in ["content-type", "cache-control", "etag"] {
        assert_eq!(created.header(absent), None, "{absent}");
    }
    assert_eq!(created.header("x-ms-version"), Some(VERSION));
    assert_eq!(created.header("x-ms-client-request-id"), Some("mine"));
    assert!(created.header("x-ms-request-id").is_some());
    let again = send_with(&server, "PUT", "/jobs", &metadata, b"").await;
    assert_eq!(again.status, 204);
    let other = send(&server, "PUT", "/jobs").await;
    assert_eq!(other.error(), (409, "QueueAlreadyExists"));
    assert_eq!(
        other.header("x-ms-error-code"),
        Some("queuealreadyexists"),
        "{other:?}"
    );
    assert_eq!(other.header("content-type"), Some("application/xml"));
    assert_eq!(send(&server, "DELETE", "/jobs").await.status, 204);
    let missing = send(&server, "DELETE", "/jobs").await;
    assert_eq!(missing.error(), (404, "QueueNotFound"));
    server.stop().await;
}

#[tokio::test]
async fn names_are_checked_before_anything_is_looked_up() {
    let server = started(&[]).await;
    for (path, code) in [
        ("/Jobs", "InvalidResourceName"),
        ("/a--b", "InvalidResourceName"),
        ("/ab", "OutOfRangeInput"),
        ("/jobs/other", "InvalidUri"),
    ] {
        let refused = send(&server, "PUT", path).await;
        assert_eq!(refused.error(), (400, code), "{path}");
    }
    let verb = send(&server, "PUT", "/jobs/messages").await;
    assert_eq!(verb.error(), (405, "UnsupportedHttpVerb"));
    assert_eq!(verb.header("allow"), Some("get, post, delete"));
    server.stop().await;
}

#[tokio::test]
async fn lists_show_pages_in_the_order_of_names() {
    let server = started(&[]).await;
    for name in ["jobs-2", "other", "jobs-1", "jobs-3"] {
        let metadata = [("x-ms-meta-of", name)];
        let created = send_with(&server, "PUT", &format!("/{name}"), &metadata, b"").await;
        assert_eq!(created.status, 201);
    }
    let first = send(
        &server,
        "GET",
        "/?comp=list&prefix=jobs&maxresults=2&include=metadata",
    )
    .await;
    assert_eq!(first.status, 200);
    assert_eq!(first.header("cache-control"), Some("no-cache"));
    assert_eq!(
        first.body,
        "<?xml version=\"1.0\" encoding=\"utf-8\"?><EnumerationResults ServiceEndpoint=\"http://localhost/devstoreaccount1/\">\
         <Prefix>jobs</Prefix><MaxResults>2</MaxResults><Queues>\
         <Queue><Name>jobs-1</Name><Metadata><of>jobs-1</of></Metadata></Queue>\
         <Queue><Name>jobs-2</Name><Metadata><of>jobs-2</of></Metadata></Queue>\
         </Queues><NextMarker>/devstoreaccount1/jobs-3</NextMarker></EnumerationResults>"
    );
    let marker = "%2Fdevstoreaccount1%2Fjobs-3";
    let path = format!("?comp=list&prefix=jobs&marker={marker}");
    let last = send(&server, "GET", &path).await;
    assert_eq!(last.count("Name"), 1);
    assert!(last.body.contains("<Name>jobs-3</Name>") && last.body.contains("<NextMarker />"));
    let all = send(&server, "GET", "/?comp=list").await;
    assert_eq!(all.count("Queue"), 4);
    let refused = send(&server, "GET", "/?comp=list&maxresults=0").await;
    assert_eq!(refused.error(), (400, "OutOfRangeQueryParameterValue"));
    server.stop().await;
}

#[tokio::test]
async fn metadata_is_replaced_and_messages_are_counted() {
    let server = with_queue().await;
    put(&server, "/jobs/messages", "x").await;
    let metadata = [("x-ms-meta", ""), ("x-ms-meta-b", "two words")];
    let set = send_with(&server, "PUT", "/jobs?comp=metadata", &metadata, b"").await;
    assert_eq!((set.status, set.body.as_str()), (204, ""));
    for verb in ["GET", "HEAD"] {
        let read = send(&server, verb, "/jobs?comp=metadata").await;
        assert_eq!((read.status, read.body.as_str()), (200, ""), "{verb}");
        assert_eq!(read.header("x-ms-approximate-messages-count"), Some("1"));
        assert_eq!(read.header("x-ms-meta-b"), Some("two words"));
        assert_eq!(read.header("content-type"), None);
        assert_eq!(read.header("cache-control"), Some("no-cache"));
    }
    assert_eq!(
        send(&server, "PUT", "/jobs?comp=metadata").await.status,
        204
    );
    let cleared = send(&server, "GET", "/jobs?comp=metadata").await;
    assert_eq!(cleared.header("x-ms-meta-b"), None);
    let invalid = [("x-ms-meta-1", "x")];
    let refused = send_with(&server, "PUT", "/jobs?comp=metadata", &invalid, b"").await;
    assert_eq!(refused.error(), (400, "InvalidMetadata"));
    let missing = send(&server, "GET", "/other?comp=metadata").await;
    assert_eq!(missing.error(), (404, "QueueNotFound"));
    let phrase = "404 the specified queue does not exist.";
    assert!(missing.head.lines().next().unwrap().ends_with(phrase));
    let missing = send(&server, "HEAD", "/other?comp=metadata").await;
    assert_eq!((missing.status, missing.body.as_str()), (404, ""));
    assert_eq!(missing.header("x-ms-error-code"), Some("queuenotfound"));
    server.stop().await;
}

#[tokio::test]
async fn names_of_metadata_keep_their_case() {
    let server = with_queue().await;
    let path = "/jobs?comp=metadata";
    for name in [
        "x-ms-meta-camelCase",
        "x-ms-meta-CAMELcase",
        "x-ms-meta-camelcase",
    ] {
        let metadata = [(name, "1"), ("x-ms-meta-Other", "2")];
        assert_eq!(
            send_with(&server, "PUT", path, &metadata, b"").await.status,
            204
        );
        let read = send(&server, "GET", path).await;
        for line in [
            format!("\r\n{name}: 1"),
            "\r\nx-ms-meta-Other: 2".to_owned(),
        ] {
            assert!(read.raw_head.contains(&line), "{}", read.raw_head);
        }
        let list = send(&server, "GET", "/?comp=list&include=metadata").await;
        assert_eq!(list.element(&name["x-ms-meta-".len()..]), "1");
    }
    server.stop().await;
}

#[tokio::test]
async fn policies_are_stored_and_cleared() {
    let server = with_queue().await;
    let acl = "/jobs?comp=acl";
    let policy = "<SignedIdentifiers><SignedIdentifier><Id>i</Id><AccessPolicy><Start>2019-10-30T19:46:25Z</Start>\
        <Expiry>2030-10-11</Expiry><Permission>raup</Permission></AccessPolicy></SignedIdentifier></SignedIdentifiers>";
    let set = send_with(&server, "PUT", acl, &[], policy.as_bytes()).await;
    assert_eq!((set.status, set.header("content-type")), (204, None));
    let read = send(&server, "GET", acl).await;
    assert_eq!(read.status, 200);
    assert_eq!(read.element("Start"), "2019-10-30T19:46:25.0000000Z");
    assert_eq!(read.element("Expiry"), "2030-10-11T00:00:00.0000000Z");
    let unknown = policy.replace("raup", "rwdl");
    let refused = send_with(&server, "PUT", acl, &[], unknown.as_bytes()).await;
    assert_eq!(refused.error(), (400, "InvalidXmlDocument"));
    assert!(
        refused.body.contains("<LineNumber>0</LineNumber>"),
        "{refused:?}"
    );
    for empty in ["", "<SignedIdentifiers />"] {
        let cleared = send_with(&server, "PUT", acl, &[], empty.as_bytes()).await;
        assert_eq!(cleared.status, 204, "{cleared:?}");
        assert_eq!(send(&server, "GET", acl).await.count("Id"), 0);
    }
    server.stop().await;
}
