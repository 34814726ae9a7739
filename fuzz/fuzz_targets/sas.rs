//! Fuzzes shared access signatures. Input: the query without `sig`. The target reads the string to sign from the
//! server's refusal and signs it, so that the checks after the signature are fuzzed too.

#![no_main]

use libfuzzer_sys::fuzz_target;
use partita_model::DateTime;
use partita_wire::table::{Access, Operation, TableSas};
use partita_wire::{
    AccountKey, AccountKeys, AccountSas, Caller, Failure, Query, ServiceKind, ServiceSas,
};

const UNSIGNED: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA%3D";

fuzz_target!(|text: &str| {
    if text.contains("sig=") {
        return;
    }
    let keys = AccountKeys::new(AccountKey::from_base64("a2V5").expect("base64"), None);
    let now = DateTime::parse("2026-01-01T00:00:00Z").expect("a date");
    let caller = Caller {
        now,
        address: Some([127, 0, 0, 1].into()),
        https: true,
    };
    let unsigned = format!("{text}&sig={UNSIGNED}");
    let account_sas = |query: &str| {
        AccountSas::parse(Query::new(query))?
            .verify("devstoreaccount1", &keys, ServiceKind::Table, &caller)
            .map(Access::account_sas)
    };
    let table_sas = |query: &str| {
        TableSas::parse(Query::new(query))?
            .verify("devstoreaccount1", &keys)?
            .access(&caller, &[])
    };
    for verify in [
        &account_sas as &dyn Fn(&str) -> Result<Access, Failure>,
        &table_sas,
    ] {
        let Err(failure) = verify(&unsigned) else {
            panic!("a signature of zeros was accepted");
        };
        let Some(string_to_sign) = string_to_sign(&failure) else {
            continue;
        };
        let signature = keys.primary().sign(&[string_to_sign]);
        let signature = signature.replace('+', "%2B").replace('=', "%3D");
        if let Ok(access) = verify(&format!("{text}&sig={signature}")) {
            let _ = access.check(Operation::InsertEntity, Some("mytable"));
            let _ = access.check(Operation::QueryEntities, Some("mytable"));
            let _ = access.check_keys("p", "r");
        }
    }
});

/// The text between quotes in "the server signed '...'".
fn string_to_sign(failure: &Failure) -> Option<&str> {
    let detail = failure
        .details
        .iter()
        .find_map(|(_, text)| text.split_once("the server signed '"));
    detail?.1.strip_suffix('\'')
}
