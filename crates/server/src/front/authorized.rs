//! A request whose credentials permit its operation.

use super::request_head::RequestHead;
use bytes::Bytes;
use partita_service::Account;
use partita_wire::{AccountKeys, Target};

/// A request whose credentials permit its operation `O`.
#[derive(Debug)]
pub(super) struct Authorized<'r, O, T> {
    pub(super) target: Target<'r>,
    pub(super) account: &'r Account<AccountKeys>,
    pub(super) operation: O,
    /// The body; empty until it is read, and for operations without a body.
    pub(super) body: Bytes,
    /// What only requests of its protocol have.
    pub(super) own: T,
}

impl<O, T> Authorized<'_, O, T> {
    /// The account's URL as the client addressed it.
    pub(super) fn base(&self, head: &RequestHead<'_>) -> String {
        self.target.base(head.scheme())
    }
}
