//! The credentials that only the Table service has: its forms of Shared Key.

use super::super::reply::{CONTENT_MD5, X_MS_DATE};
use super::call::Call;
use crate::logging::REQUESTS;
use hyper::header;
use partita_wire::table::{Access, SignedRequest};
use partita_wire::{AccountKeys, Failure, SharedKey, Target};

pub(super) fn by_key(
    call: &Call<'_>,
    target: &Target<'_>,
    shared_key: &SharedKey<'_>,
    keys: &AccountKeys,
) -> Result<Access, Failure> {
    let head = &call.head;
    let date = head
        .decisive_header(&X_MS_DATE)
        .or_else(|| head.header(&header::DATE));
    let signed = SignedRequest {
        method: head.parts.method.as_str(),
        content_md5: head.header(&CONTENT_MD5).unwrap_or_default(),
        content_type: head.header(&header::CONTENT_TYPE).unwrap_or_default(),
        date: date.unwrap_or_default(),
        target,
    };
    let verified = signed.verify(shared_key, keys, &head.caller);
    if verified.is_err() {
        tracing::debug!(
            target: REQUESTS,
            request_id = &*head.request_id,
            ?signed,
            "the signature does not match the request"
        );
    }
    verified
}
