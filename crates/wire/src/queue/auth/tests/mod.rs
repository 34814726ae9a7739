//! Tests of rights and credentials of queues. Official clients computed the signatures, which are test vectors.

mod access;
mod sas;
mod shared_key;

use super::*;
use crate::testing::{ACCOUNT, caller, code, key};
use crate::{AccountKeys, Credentials, ErrorCode, Failure, Hosts, Query, Target, Version};

fn keys() -> AccountKeys {
    AccountKeys::new(key(), None)
}

fn target<'a>(text: &'a str, host: &'a str) -> Target<'a> {
    let hosts = Hosts::new(["queue.localhost".to_owned()], false);
    Target::parse(text, Some(host), &hosts, |_| false).unwrap()
}

fn credentials<'a>(
    header: Option<&'a str>,
    query: &'a str,
) -> Result<Credentials<'a, QueueSas<'a>>, Failure> {
    Credentials::parse(header, Query::new(query), Version::parse("2021-02-12"))
}
