//! Tests of rights and credentials of tables. The signatures are the vectors of the protocol sheet, section 17, made with
//! official clients.

mod access;
mod sas;
mod sas_terms;
mod shared_key;

use super::*;
use crate::table::Operation;
use crate::{
    AccountKey, AccountKeys, Caller, Credentials, ErrorCode, Failure, Hosts, Query, ServiceKind,
    Target, Version,
};
use partita_model::DateTime;

const ACCOUNT: &str = "devstoreaccount1";
const KEY: &str =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
const DATE: &str = "Tue, 02 Jan 2024 03:04:05 GMT";

fn key() -> AccountKey {
    AccountKey::from_base64(KEY).unwrap()
}

fn keys() -> AccountKeys {
    AccountKeys::new(key(), None)
}

fn time(text: &str) -> DateTime {
    DateTime::parse(text).unwrap()
}

fn caller() -> Caller {
    Caller {
        now: time("2024-01-02T03:10:00Z"),
        address: Some([10, 0, 0, 5].into()),
        https: true,
    }
}

fn target<'a>(text: &'a str, host: &'a str) -> Target<'a> {
    Target::parse(
        text,
        Some(host),
        &Hosts::new(["table.localhost".to_owned()], false),
        |_| false,
    )
    .unwrap()
}

fn code<T: std::fmt::Debug>(result: Result<T, Failure>) -> ErrorCode {
    result.unwrap_err().code
}

fn credentials<'a>(
    header: Option<&'a str>,
    query: &'a str,
) -> Result<Credentials<'a, TableSas<'a>>, Failure> {
    Credentials::parse(header, Query::new(query), Version::parse("2019-02-02"))
}
