//! Tests of rights and credentials of tables. Official clients computed the signatures, which are test vectors.

mod access;
mod sas;
mod sas_terms;
mod shared_key;

use super::*;
use crate::table::Operation;
use crate::testing::{ACCOUNT, caller, code, credentials, key, time};
use crate::{
    AccountKey, AccountKeys, Caller, Credentials, ErrorCode, Failure, Hosts, ServiceKind, Target,
};

const DATE: &str = "Tue, 02 Jan 2024 03:04:05 GMT";

fn keys() -> AccountKeys {
    AccountKeys::new(key(), None)
}

fn target<'a>(text: &'a str, host: &'a str) -> Target<'a> {
    let hosts = Hosts::new(["table.localhost".to_owned()], false);
    Target::parse(text, Some(host), &hosts, |_| false).unwrap()
}
