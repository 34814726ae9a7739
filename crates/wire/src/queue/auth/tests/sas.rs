use super::*;
use crate::Rights;
use crate::queue::Operation;
use crate::{SasTerms, ServiceKind};
use partita_model::{AccessPolicy, DateTime, SignedIdentifier};
use proptest::prelude::*;

/// A queue SAS that an official client signed, for the queue `myqueue`.
const QUEUE_SAS: &str = "st=2024-01-02T03%3A04%3A05Z&se=2034-01-02T03%3A04%3A05Z&sp=raup&sv=2026-10-06\
    &sig=wr9E45YDSAI2T5/SxIo4jek0MMjGO495dBcqI1%2B9k9s%3D";

fn check_with(
    query: &str,
    queue: Option<&str>,
    policies: &[SignedIdentifier],
) -> Result<Access, Failure> {
    match credentials(None, query)? {
        Credentials::AccountSas(sas) => sas
            .verify(ACCOUNT, &keys(), ServiceKind::Queue, &caller())
            .map(Access::account_sas),
        Credentials::ServiceSas(sas) => sas
            .verify(ACCOUNT, queue, &keys())?
            .access(&caller(), policies),
        other => panic!("{other:?}"),
    }
}

fn check(query: &str) -> Result<Access, Failure> {
    check_with(query, Some("myqueue"), &[])
}

#[test]
fn vectors_of_official_clients_are_accepted() {
    let access = check(QUEUE_SAS).unwrap();
    assert!(matches!(access.rights(), Rights::ContainerSas { .. }));
    assert!(
        access
            .check(Operation::GetMessages, Some("myqueue"))
            .is_ok()
    );
    assert!(access.check(Operation::GetMessages, Some("other")).is_err());
    let account = "sp=rwdlacup&ss=q&srt=sco&se=2034-01-02T03:04:05Z&sv=2026-10-06&sig=1KOyXO4RHG9Ytz1ebMsKOP6j3rEIQGZTRK+0mruRG/8=";
    let access = check(account).unwrap();
    assert!(matches!(access.rights(), Rights::AccountSas { .. }));
}

#[test]
fn a_queue_sas_is_valid_for_its_queue_only() {
    for queue in [Some("myqueue2"), Some("MyQueue"), Some(""), None] {
        let refused = code(check_with(QUEUE_SAS, queue, &[]));
        assert_eq!(refused, ErrorCode::AuthenticationFailed, "{queue:?}");
    }
    for (from, to) in [("raup", "rau"), ("2034", "2035"), ("sv=", "si=p&sv=")] {
        let refused = code(check(&QUEUE_SAS.replacen(from, to, 1)));
        assert_eq!(refused, ErrorCode::AuthenticationFailed, "{to}");
    }
}

#[test]
fn older_versions_sign_fewer_parameters() {
    for (version, text, more) in [
        ("2012-02-12", "/devstoreaccount1/myqueue\n\n2012-02-12", ""),
        (
            "2015-02-21",
            "/queue/devstoreaccount1/myqueue\n\n2015-02-21",
            "",
        ),
        (
            "2015-04-05",
            "/queue/devstoreaccount1/myqueue\n\n10.0.0.5\nhttps\n2015-04-05",
            "&sip=10.0.0.5&spr=https",
        ),
    ] {
        let signature = key().sign(&["r\n\n2034-01-02\n", text]).replace('+', "%2B");
        let sas = format!("sp=r&se=2034-01-02&sv={version}{more}&sig={signature}");
        assert!(check(&sas).is_ok(), "{version}");
        if more.is_empty() {
            let refused = code(check(&format!("{sas}&spr=https")));
            assert_eq!(refused, ErrorCode::AuthenticationFailed);
        }
    }
}

fn terms(permissions: &str, policy_id: Option<&str>, expiry: Option<DateTime>) -> QueueSasTerms {
    QueueSasTerms {
        queue: "myqueue".to_owned(),
        permissions: permissions.to_owned(),
        policy_id: policy_id.map(str::to_owned),
        terms: SasTerms {
            expiry,
            ..SasTerms::default()
        },
    }
}

#[test]
fn stored_policies_supply_missing_terms() {
    let expiry = DateTime::parse("2034-01-02").unwrap();
    let stored = |expiry, permission: Option<&str>| {
        let policy = AccessPolicy {
            start: None,
            expiry,
            permission: permission.map(str::to_owned),
        };
        let id = "p".to_owned();
        vec![SignedIdentifier { id, policy }]
    };
    let full = stored(Some(expiry), Some("ap"));
    let sas = terms("", Some("p"), None).sign(ACCOUNT, &key());
    let access = check_with(&sas, Some("myqueue"), &full).unwrap();
    assert!(access.check(Operation::PutMessage, Some("myqueue")).is_ok());
    let refused = access.check(Operation::PeekMessages, Some("myqueue"));
    assert_eq!(code(refused), ErrorCode::AuthorizationPermissionMismatch);
    let unknown = check_with(&sas, Some("myqueue"), &[]).unwrap_err();
    assert_eq!(unknown.code, ErrorCode::AuthenticationFailed);
    assert!(
        unknown.details[0]
            .1
            .contains("the queue has no stored access policy")
    );
    let twice = terms("r", Some("p"), None).sign(ACCOUNT, &key());
    let refused = code(check_with(&twice, Some("myqueue"), &full));
    assert_eq!(refused, ErrorCode::InvalidQueryParameterValue);
    let expired = stored(Some(DateTime::parse("2023-01-02").unwrap()), Some("r"));
    let refused = code(check_with(&sas, Some("myqueue"), &expired));
    assert_eq!(refused, ErrorCode::AuthenticationFailed);
}

proptest! {
    #[test]
    fn the_server_accepts_what_a_client_signs(permissions in "[raup]{1,4}", id in proptest::option::of("[a-z&+ ]{1,9}")) {
        let expiry = DateTime::parse("2034-01-02").unwrap();
        let sas = terms(&permissions, id.as_deref(), Some(expiry)).sign(ACCOUNT, &key());
        let policies: Vec<_> = id
            .map(|id| SignedIdentifier { id, policy: AccessPolicy::default() })
            .into_iter()
            .collect();
        prop_assert!(check_with(&sas, Some("myqueue"), &policies).is_ok());
    }
}
