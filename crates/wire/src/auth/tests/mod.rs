//! Tests of credentials. Official clients computed the expected signatures.

mod bearer;

use super::*;
use crate::table::TableSas;
use crate::testing::{ACCOUNT, KEY, caller, code, credentials, key, time};
use crate::{ErrorCode, Query, ServiceKind, Version};

#[test]
fn keys_are_base64() {
    assert!(AccountKey::from_base64(KEY.trim_end_matches('=')).is_ok());
    for bad in ["", "====", "not base64!", "é", &"A".repeat(4096)] {
        assert_eq!(
            AccountKey::from_base64(bad).err(),
            Some(InvalidAccountKey),
            "{bad}"
        );
    }
    assert_eq!(format!("{:?}", key()), "AccountKey(…)");
}

#[test]
fn kinds_of_credentials_are_recognized() {
    let is = |header, query| credentials(header, query).unwrap();
    assert!(matches!(
        is(Some("SharedKey a:eA=="), "sig=x&tn=y"),
        Credentials::SharedKey(_)
    ));
    assert!(matches!(
        is(Some("sharedkeylite a:eA=="), ""),
        Credentials::SharedKey(_)
    ));
    assert_eq!(is(Some("Bearer abc"), ""), Credentials::Bearer("abc"));
    assert!(matches!(
        is(None, "sv=2019-02-02&ss=t&sig=x"),
        Credentials::AccountSas(_)
    ));
    assert!(matches!(
        is(None, "sv=2019-02-02&tn=T&sig=x"),
        Credentials::ServiceSas(_)
    ));
    for bad in [
        "",
        "SharedKey",
        "SharedKey x",
        "SharedKey :x",
        "SharedKey x:",
        "Basic abc",
        "Bearer ",
        "Foo a:b",
    ] {
        assert_eq!(
            code(credentials(Some(bad), "")),
            ErrorCode::InvalidAuthenticationInfo,
            "{bad}"
        );
    }
}

#[test]
fn shared_keys_need_a_version() {
    let parse = |header| Credentials::<TableSas<'_>>::parse(Some(header), Query::default(), None);
    assert_eq!(
        code(parse("SharedKey a:eA==")),
        ErrorCode::MissingRequiredHeader
    );
    assert!(parse("Bearer abc").is_ok());
}

#[test]
fn requests_without_credentials_are_challenged_since_2019_12_12() {
    let none = |version| {
        code(Credentials::<TableSas<'_>>::parse(
            None,
            Query::default(),
            version,
        ))
    };
    assert_eq!(
        none(Version::parse("2019-02-02")),
        ErrorCode::AuthenticationFailed
    );
    assert_eq!(none(None), ErrorCode::AuthenticationFailed);
    assert_eq!(
        none(Version::parse("2019-10-10")),
        ErrorCode::AuthenticationFailed
    );
    assert_eq!(
        none(Version::parse("2019-12-12")),
        ErrorCode::MissingCredentials
    );
    assert_eq!(ErrorCode::MissingCredentials.status(), 401);
}

#[test]
fn an_account_signature_is_for_the_services_that_it_names() {
    let terms = AccountSasTerms {
        permissions: "rl".to_owned(),
        resource_types: "sco".to_owned(),
        terms: SasTerms {
            expiry: Some(time("2024-01-02T04:00:00Z")),
            ..SasTerms::default()
        },
    };
    let services = [ServiceKind::Queue, ServiceKind::Table];
    let token = terms.sign_for(ACCOUNT, &key(), &services);
    assert!(token.contains("ss=qt&"), "{token}");
    let sas = AccountSas::parse(Query::new(&token)).unwrap();
    let keys = AccountKeys::new(key(), None);
    for service in services {
        assert!(sas.verify(ACCOUNT, &keys, service, &caller()).is_ok());
    }
    assert_eq!(
        code(sas.verify(ACCOUNT, &keys, ServiceKind::Blob, &caller())),
        ErrorCode::AuthorizationServiceMismatch
    );
    // The signature of an expired one is still valid.
    let late = Caller {
        now: time("2025-01-01"),
        ..caller()
    };
    assert!(
        sas.verify(ACCOUNT, &keys, ServiceKind::Table, &late)
            .is_err()
    );
    assert!(sas.check_signature(ACCOUNT, &keys).is_ok());
    assert!(sas.check_signature("other", &keys).is_err());
}
