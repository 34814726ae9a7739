use super::*;
use crate::testing::{code, hosts, target as parse};
use crate::{Hosts, Query};
use partita_model::{Guid, QueueName};
use proptest::prelude::*;

fn operation(method: &str, text: &str) -> Result<Operation, Failure> {
    let target = parse(text, "127.0.0.1:10001");
    Operation::of(&target, Method::parse(method)?, &Resource::of(&target)?)
}

#[test]
fn operations() {
    use Operation as O;
    for (method, target, expected) in [
        ("GET", "/acct/?comp=list", O::ListQueues),
        ("GET", "/acct?comp=List&prefix=a", O::ListQueues),
        (
            "GET",
            "/acct/?restype=service&comp=properties",
            O::GetQueueServiceProperties,
        ),
        (
            "PUT",
            "/acct/?comp=properties&restype=Service",
            O::SetQueueServiceProperties,
        ),
        (
            "GET",
            "/acct-secondary/acct/?restype=service&comp=stats",
            O::GetQueueServiceStats,
        ),
        ("PUT", "/acct/queue1?timeout=30", O::CreateQueue),
        ("PUT", "/acct/queue1/", O::CreateQueue),
        ("DELETE", "/acct/queue1", O::DeleteQueue),
        ("GET", "/acct/queue1?comp=metadata", O::GetQueueMetadata),
        ("HEAD", "/acct/queue1?comp=metadata", O::GetQueueMetadata),
        ("PUT", "/acct/queue1?comp=METADATA", O::SetQueueMetadata),
        ("GET", "/acct/queue1?comp=acl", O::GetQueueAcl),
        ("HEAD", "/acct/queue1?comp=acl", O::GetQueueAcl),
        ("PUT", "/acct/queue1?comp=acl", O::SetQueueAcl),
        ("POST", "/acct/queue1/messages", O::PutMessage),
        (
            "GET",
            "/acct/queue1/messages?numofmessages=2",
            O::GetMessages,
        ),
        (
            "GET",
            "/acct/queue1/messages?peekonly=false",
            O::GetMessages,
        ),
        (
            "GET",
            "/acct/queue1/messages?PeekOnly=True",
            O::PeekMessages,
        ),
        (
            "GET",
            "/acct-secondary/queue1/messages?peekonly=true",
            O::PeekMessages,
        ),
        ("DELETE", "/acct/queue1/messages", O::ClearMessages),
        (
            "PUT",
            "/acct/queue1/messages/id?popreceipt=x",
            O::UpdateMessage,
        ),
        ("DELETE", "/acct/queue1/messages/id", O::DeleteMessage),
        ("OPTIONS", "/acct/queue1/messages", O::Preflight),
        ("OPTIONS", "/acct/", O::Preflight),
    ] {
        assert_eq!(operation(method, target), Ok(expected), "{method} {target}");
    }
}

#[test]
fn other_requests_are_refused() {
    use ErrorCode as E;
    for (method, target, expected) in [
        ("GET", "/acct/", E::InvalidQueryParameterValue),
        ("GET", "/acct/?comp=unknown", E::InvalidQueryParameterValue),
        (
            "GET",
            "/acct/?comp=properties",
            E::InvalidQueryParameterValue,
        ),
        (
            "GET",
            "/acct/?comp=stats&restype=service",
            E::InvalidQueryParameterValue,
        ),
        ("POST", "/acct/?comp=list", E::UnsupportedHttpVerb),
        (
            "DELETE",
            "/acct/?restype=service&comp=properties",
            E::UnsupportedHttpVerb,
        ),
        (
            "PUT",
            "/acct-secondary/?restype=service&comp=stats",
            E::UnsupportedHttpVerb,
        ),
        ("GET", "/acct/queue1", E::InvalidQueryParameterValue),
        (
            "PUT",
            "/acct/queue1?comp=list",
            E::InvalidQueryParameterValue,
        ),
        ("POST", "/acct/queue1", E::UnsupportedHttpVerb),
        ("DELETE", "/acct/queue1?comp=acl", E::UnsupportedHttpVerb),
        ("PUT", "/acct/queue1/messages", E::UnsupportedHttpVerb),
        ("GET", "/acct/queue1/messages/id", E::UnsupportedHttpVerb),
        (
            "GET",
            "/acct/queue1/messages?peekonly=1",
            E::InvalidQueryParameterValue,
        ),
        ("GET", "/acct/queue1/other", E::InvalidUri),
        ("GET", "/acct/queue1/messages/id/x", E::InvalidUri),
        ("GET", "/acct/queue%", E::InvalidUri),
        ("get", "/acct/queue1/messages", E::InvalidHttpVerb),
        (
            "PUT",
            "/acct-secondary/queue1",
            E::InsufficientAccountPermissions,
        ),
        (
            "GET",
            "/acct-secondary/queue1/messages",
            E::InsufficientAccountPermissions,
        ),
    ] {
        assert_eq!(
            code(operation(method, target)),
            expected,
            "{method} {target}"
        );
    }
}

#[test]
fn a_refused_method_lists_the_allowed_ones() {
    for (target, allow) in [
        ("/acct/?comp=list", "GET"),
        ("/acct/?restype=service&comp=properties", "GET, PUT"),
        ("/acct/queue1", "GET, HEAD, PUT, DELETE"),
        ("/acct/queue1?comp=acl", "GET, HEAD, PUT"),
        ("/acct/queue1/messages", "GET, POST, DELETE"),
        ("/acct/queue1/messages/id", "PUT, DELETE"),
    ] {
        let refused = operation("PATCH", target).unwrap_err();
        assert_eq!(
            (refused.status(), refused.allow),
            (405, Some(allow)),
            "{target}"
        );
    }
}

#[test]
fn resources_are_found_in_both_styles() {
    let hosts = Hosts::new(["queue.localhost".to_owned()], false);
    let id = "6a0aa3b7-4d20-4a4c-9a3c-1d2e3f405060";
    let path = format!("/queue1/messages/{id}");
    for (target, host) in [
        (format!("/acct{path}"), "127.0.0.1:10001"),
        (path, "acct.queue.localhost:10001"),
    ] {
        let target = Target::parse(&target, Some(host), &hosts, |_| false).unwrap();
        let resource = Resource::of(&target).unwrap().into_owned();
        assert_eq!(resource.queue(), Some("queue1"));
        assert_eq!(
            resource.queue_name(),
            Ok(Some(QueueName::new("queue1").unwrap()))
        );
        assert_eq!(resource.message_id(), Ok(Some(Guid::parse(id).unwrap())));
    }
    let decoded = Resource::parse("/my%2Dqueue//Messages/").unwrap();
    assert_eq!(decoded, Resource::Messages("my-queue".into()));
    assert_eq!(decoded.message_id(), Ok(None));
    assert_eq!(Resource::Service.queue_name(), Ok(None));
}

/// Recordings js--queueclient_create_negative and net--MessageIdClientTests_DeleteAsync_Error.
#[test]
fn names_and_ids_are_checked() {
    let name = |path: &str| {
        let checked = Resource::parse(path).unwrap().queue_name();
        checked.map_err(|failure| (failure.code, failure.text().to_owned()))
    };
    let characters = "The specifed resource name contains invalid characters.";
    let length = "The specified resource name length is not within the permissible limits.";
    for bad in ["%7BqueueName%7D", "Queue", "a--b", "$root", "%E5%95%8A"] {
        let expected = (ErrorCode::InvalidResourceName, characters.to_owned());
        assert_eq!(name(&format!("/{bad}/messages")), Err(expected), "{bad}");
    }
    for bad in ["ab", &"a".repeat(64)] {
        let expected = (ErrorCode::OutOfRangeInput, length.to_owned());
        assert_eq!(name(&format!("/{bad}")), Err(expected), "{bad}");
    }
    let message = Resource::parse("/queue1/messages/test-message-73dd8400").unwrap();
    assert_eq!(code(message.message_id()), ErrorCode::MessageNotFound);
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(target: String, path in "[a-z%/?&=]{0,40}", query in "(comp|restype|peekonly|=|&|list|[a-z]){0,8}") {
        for text in [target, path, format!("/acct/?{query}"), format!("/acct/q/messages?{query}")] {
            if let Ok(target) = Target::parse(&text, Some("127.0.0.1"), &hosts(), |_| false)
                && let Ok(resource) = Resource::of(&target)
            {
                let _ = (resource.queue_name(), resource.message_id());
                for method in [Method::Get, Method::Put, Method::Delete] {
                    let _ = Operation::of(&target, method, &resource);
                }
            }
            let _ = Query::new(&text).timeout_seconds();
        }
    }
}
