//! Signatures made by clients.

use super::*;
use crate::{AccountSasTerms, SasTerms};
use partita_model::EntityPosition;
use std::net::Ipv4Addr;

fn terms() -> SasTerms {
    SasTerms {
        start: Some(time("2024-01-02T03:04:05.5Z")),
        expiry: Some(time("2034-01-02T03:04:05Z")),
        addresses: Some("10.0.0.1-10.0.0.9".to_owned()),
        https_only: false,
    }
}

/// The official Python SDK, version 12.7.0, made this signature for the same terms.
#[test]
fn a_table_sas_equals_that_of_the_official_sdk() {
    let position = |partition_key: &str, row_key: &str| EntityPosition {
        partition_key: partition_key.to_owned(),
        row_key: Some(row_key.to_owned()),
    };
    let sas = TableSasTerms {
        table: "MyTable".to_owned(),
        permissions: "raud".to_owned(),
        terms: terms(),
        policy_id: None,
        low: Some(position("a", "1")),
        high: Some(position("z", "9")),
    };
    assert_eq!(
        sas.sign(ACCOUNT, &key()),
        "sv=2019-02-02&sp=raud&st=2024-01-02T03%3A04%3A05Z&se=2034-01-02T03%3A04%3A05Z&sip=10.0.0.1-10.0.0.9\
         &spr=https%2Chttp&tn=MyTable&spk=a&srk=1&epk=z&erk=9&sig=Yfrs0B4KXOhqtYtxwhewKeEXRwaRf18evY030%2FIwOrM%3D"
    );
}

#[test]
fn the_server_accepts_both_kinds_of_sas() {
    let caller = Caller {
        address: Some(Ipv4Addr::new(10, 0, 0, 5).into()),
        https: false,
        now: time("2025-01-01T00:00:00Z"),
    };
    let keys = AccountKeys::new(key(), None);
    let account = AccountSasTerms {
        permissions: "rla".to_owned(),
        resource_types: "so".to_owned(),
        terms: terms(),
    }
    .sign(ACCOUNT, &key(), ServiceKind::Table);
    let Ok(Credentials::AccountSas(sas)) = credentials(None, &account) else {
        panic!("{account}");
    };
    let access = sas.verify(ACCOUNT, &keys, ServiceKind::Table, &caller);
    let access = Access::account_sas(access.unwrap());
    assert!(access.check(Operation::InsertEntity, Some("any")).is_ok());
    assert!(access.check(Operation::DeleteEntity, Some("any")).is_err());
    assert!(
        sas.verify("otheraccount", &keys, ServiceKind::Table, &caller)
            .is_err()
    );
    let queues = sas.verify(ACCOUNT, &keys, ServiceKind::Queue, &caller);
    assert_eq!(code(queues), ErrorCode::AuthorizationServiceMismatch);

    let stored = TableSasTerms {
        table: "MyTable".to_owned(),
        permissions: String::new(),
        terms: SasTerms::default(),
        policy_id: Some("read only".to_owned()),
        low: None,
        high: None,
    }
    .sign(ACCOUNT, &key());
    let Ok(Credentials::ServiceSas(sas)) = credentials(None, &stored) else {
        panic!("{stored}");
    };
    assert_eq!(
        sas.verify(ACCOUNT, &keys).unwrap().policy_id(),
        Some("read only")
    );
}
