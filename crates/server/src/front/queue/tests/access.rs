//! Credentials: keys, signatures, and requests without either.

use super::*;
use partita_wire::queue::QueueSasTerms;
use partita_wire::{AccountSasTerms, SasTerms, ServiceKind};

fn terms() -> SasTerms {
    SasTerms {
        expiry: Some(DateTime::parse("9999-01-01T00:00:00Z").unwrap()),
        ..SasTerms::default()
    }
}

fn key() -> AccountKey {
    AccountKey::from_base64(WELL_KNOWN_KEY).unwrap()
}

/// A path of the account with a signature.
fn signed(path: &str, signature: &str) -> String {
    let mark = if path.contains('?') { '&' } else { '?' };
    format!("/{ACCOUNT}{path}{mark}{signature}")
}

fn queue_sas(queue: &str, permissions: &str, policy_id: Option<&str>) -> String {
    let terms = QueueSasTerms {
        queue: queue.to_owned(),
        permissions: permissions.to_owned(),
        policy_id: policy_id.map(str::to_owned),
        terms: match policy_id {
            None => terms(),
            Some(_) => SasTerms::default(),
        },
    };
    terms.sign(ACCOUNT, &key())
}

#[tokio::test]
async fn a_request_needs_a_valid_signature() {
    let server = with_queue().await;
    let path = format!("/{ACCOUNT}/jobs/messages");
    let date = http_date(DateTime::from_system(SystemTime::now())).to_string();
    let wrong = "SharedKey devstoreaccount1:c2lnbmF0dXJlLXRoYXQtZml0cy1ub3RoaW5nLWhlcmU=";
    let headers = [
        ("x-ms-date", date.as_str()),
        ("x-ms-version", VERSION),
        ("Authorization", wrong),
    ];
    let refused = ask(&server, "GET", &path, &headers, b"").await;
    assert_eq!(refused.error(), (403, "AuthenticationFailed"));
    let refused = ask(&server, "GET", &path, &headers[..2], b"").await;
    assert_eq!(refused.error(), (403, "AuthenticationFailed"));
    let newer = [("x-ms-version", "2020-04-08")];
    let challenged = ask(&server, "GET", &path, &newer, b"").await;
    assert_eq!(challenged.status, 401);
    assert!(challenged.header("www-authenticate").is_some());
    let unknown = ask(&server, "GET", "/other/jobs/messages", &headers, b"").await;
    assert_eq!(unknown.error(), (403, "AuthenticationFailed"));
    server.stop().await;
}

#[tokio::test]
async fn a_queue_signature_permits_its_letters_on_its_queue() {
    let server = with_queue().await;
    let with = async |method: &str, path: &str, sas: &str, body: &[u8]| {
        ask(&server, method, &signed(path, sas), &[], body).await
    };
    let body = message("x");
    let add = queue_sas("jobs", "a", None);
    let put = with("POST", "/jobs/messages", &add, body.as_bytes()).await;
    assert_eq!(put.status, 201, "{put:?}");
    let refused = with("GET", "/jobs/messages", &add, b"").await;
    assert_eq!(refused.error(), (403, "AuthorizationPermissionMismatch"));
    let read = queue_sas("jobs", "r", None);
    let peeked = with("GET", "/jobs/messages?peekonly=true", &read, b"").await;
    assert_eq!(peeked.element("MessageText"), "x");
    let process = queue_sas("jobs", "p", None);
    let got = with("GET", "/jobs/messages", &process, b"").await;
    assert_eq!(got.element("MessageText"), "x");
    let deleted = with("DELETE", &path_of(&got), &process, b"").await;
    assert_eq!(deleted.status, 204);
    // No letter permits these operations.
    let all = queue_sas("jobs", "raup", None);
    for (method, path) in [
        ("DELETE", "/jobs/messages"),
        ("DELETE", "/jobs"),
        ("PUT", "/jobs?comp=metadata"),
        ("GET", "/jobs?comp=acl"),
    ] {
        let refused = with(method, path, &all, b"").await;
        assert_eq!(refused.error(), (403, "AuthorizationFailure"), "{path}");
    }
    let other = with("GET", "/other/messages", &process, b"").await;
    assert_eq!(other.error(), (403, "AuthenticationFailed"));
    let of_account = with("GET", "/?comp=list", &process, b"").await;
    assert_eq!(of_account.error(), (403, "AuthenticationFailed"));
    server.stop().await;
}

#[tokio::test]
async fn a_stored_policy_has_the_terms_of_a_signature() {
    let server = with_queue().await;
    let policy = "<SignedIdentifiers><SignedIdentifier><Id>reader</Id><AccessPolicy><Expiry>9999-01-01T00:00:00Z</Expiry>\
        <Permission>r</Permission></AccessPolicy></SignedIdentifier></SignedIdentifiers>";
    let stored = send_with(&server, "PUT", "/jobs?comp=acl", &[], policy.as_bytes()).await;
    assert_eq!(stored.status, 204);
    let peek = "/jobs/messages?peekonly=true";
    let known = signed(peek, &queue_sas("jobs", "", Some("reader")));
    assert_eq!(ask(&server, "GET", &known, &[], b"").await.status, 200);
    let unknown = signed(peek, &queue_sas("jobs", "", Some("writer")));
    let refused = ask(&server, "GET", &unknown, &[], b"").await;
    assert_eq!(refused.error(), (403, "AuthenticationFailed"));
    // A queue that does not exist has no policies.
    let missing = signed("/other/messages", &queue_sas("other", "", Some("reader")));
    let refused = ask(&server, "GET", &missing, &[], b"").await;
    assert_eq!(refused.error(), (403, "AuthenticationFailed"));
    server.stop().await;
}

#[tokio::test]
async fn an_account_signature_is_for_its_service() {
    let server = with_queue().await;
    let of = |service, permissions: &str| {
        let terms = AccountSasTerms {
            permissions: permissions.to_owned(),
            resource_types: "sco".to_owned(),
            terms: terms(),
        };
        signed("/?comp=list", &terms.sign(ACCOUNT, &key(), service))
    };
    let list = async |target: String| ask(&server, "GET", &target, &[], b"").await;
    assert_eq!(list(of(ServiceKind::Queue, "l")).await.status, 200);
    let refused = list(of(ServiceKind::Queue, "r")).await;
    assert_eq!(refused.error(), (403, "AuthorizationPermissionMismatch"));
    let refused = list(of(ServiceKind::Table, "l")).await;
    assert_eq!(refused.error(), (403, "AuthorizationServiceMismatch"));
    server.stop().await;
}
