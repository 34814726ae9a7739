//! The credentials that only the Queue service has: its forms of Shared Key.

use super::call::Call;
use crate::logging::REQUESTS;
use partita_wire::queue::{Access, SignedRequest};
use partita_wire::{AccountKeys, Failure, SharedKey, Target};

pub(super) fn by_key(
    call: &Call<'_>,
    target: &Target<'_>,
    shared_key: &SharedKey<'_>,
    keys: &AccountKeys,
) -> Result<Access, Failure> {
    let head = &call.head;
    let headers: Vec<_> = call.headers().collect();
    let signed = SignedRequest {
        method: head.parts.method.as_str(),
        headers: &headers,
        target,
    };
    let verified = signed.verify(shared_key, keys, &head.caller);
    if verified.is_err() {
        tracing::debug!(
            target: REQUESTS,
            request_id = &*head.request_id,
            "the signature does not match the request"
        );
    }
    verified
}
