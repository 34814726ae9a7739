//! Owner hints: tells clients that ask which server has their data, so that they can send the next requests there.
//! `docs/extensions.md` describes the header for users, `partita_wire::OwnerHint` its text.
//!
//! Invariants:
//! - a request that names another cluster is refused before it is executed: an address may have a new server;
//! - a client learns PartitionKeys at which ranges begin only if it may use all keys of the table.

use super::protocol::Exchange;
use super::reply::Reply;
use super::request_head::{OwnerAsked, RequestHead};
use crate::forwarding::Membership;
use bytes::Bytes;
use hyper::header::{HeaderName, HeaderValue};
use partita_model::{EntityRange, container_prefix, partition_of_bound};
use partita_wire::{ASKS_FOR_OWNER, Failure, HintedOwner, OWNER_HEADER, OwnerHint, Rights};
use std::borrow::Cow;

const X_PARTITA_OWNER: HeaderName = HeaderName::from_static(OWNER_HEADER);

/// Refuses a request that is for another cluster.
pub(super) fn check(head: &RequestHead<'_>) -> Result<(), Failure> {
    let Some(wanted) = head.decisive_header(&X_PARTITA_OWNER) else {
        return Ok(());
    };
    let own = head.front.parts.membership.as_deref();
    let own = own.and_then(|membership| membership.routing().cluster());
    match wanted == ASKS_FOR_OWNER || own.as_deref() == Some(wanted) {
        true => Ok(()),
        false => Err(Failure::header_value(OWNER_HEADER, wanted)),
    }
}

/// What the answer to a request with these rights needs, if it asks for a hint.
pub(super) fn asked(head: &RequestHead<'_>, key: &Bytes, rights: &Rights) -> Option<OwnerAsked> {
    let value = head.header(&X_PARTITA_OWNER)?;
    // Keys of the catalog are in no table and no queue.
    container_prefix(key)?;
    let sees_all = match rights {
        Rights::ContainerSas { range, .. } => *range == EntityRange::whole_table(),
        Rights::Owner | Rights::AccountSas { .. } | Rights::Roles(_) => true,
    };
    sees_all.then(|| OwnerAsked {
        key: key.clone(),
        is_direct: value != ASKS_FOR_OWNER,
    })
}

/// Adds the hint to the answer of a request that asks for one.
pub(super) fn add<'r, E: Exchange<'r>>(head: &RequestHead<'r>, reply: &mut Reply) {
    if let Some(membership) = head.front.parts.membership.as_deref()
        && head.parts.headers.contains_key(&X_PARTITA_OWNER)
        && let Some(hint) = hint::<E>(head, membership, reply.is_passed_on)
        && let Ok(hint) = HeaderValue::try_from(hint)
    {
        reply.headers.insert(X_PARTITA_OWNER, hint);
    }
}

/// The hint: without the owner, if the client has reached it.
fn hint<'r, E: Exchange<'r>>(
    head: &RequestHead<'r>,
    membership: &Membership,
    was_forwarded: bool,
) -> Option<String> {
    let routing = membership.routing();
    let cluster = routing.cluster()?;
    let asked = head.owner_asked.as_ref();
    let asked = asked.filter(|asked| was_forwarded || !asked.is_direct);
    let owner = asked.and_then(|asked| {
        let owner = routing.address(&asked.key, E::SERVICE_ID)?;
        Some(HintedOwner {
            url: owner.url.into(),
            from: match partition_of_bound(&asked.key, &owner.start) {
                Some(from) => from.into(),
                None => "".into(),
            },
            to: owner
                .end
                .and_then(|end| partition_of_bound(&asked.key, &end))
                .map(Into::into),
        })
    });
    let cluster = Cow::Borrowed(&*cluster);
    Some(OwnerHint { cluster, owner }.header())
}
