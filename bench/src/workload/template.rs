//! A whole request whose date, signature and keys are patched in place.
//!
//! Date, signature and keys have fixed lengths, and the signature of these requests covers neither the body nor the
//! query ("Authorize with Shared Key").

use std::net::SocketAddr;

use crate::account::SIGNATURE_LEN;
use crate::batch::{self, Batch};
use crate::clock::DATE_LEN;
use crate::entity::KEY_LEN;
use crate::{Account, entity, rfc1123_now};

/// Operations of one batch.
const BATCH_OPERATIONS: u64 = 100;

/// A prepared request.
#[derive(Clone, Debug)]
pub(super) struct Template {
    bytes: Vec<u8>,
    account: Account,
    method: &'static str,
    content_type: &'static str,
    path: String,
    date_at: usize,
    signature_at: usize,
    /// The positions of the partition keys.
    partition_keys_at: Vec<usize>,
    /// The positions of the row keys.
    row_keys_at: Vec<usize>,
}

impl Template {
    /// The query of one whole partition.
    pub(super) fn page(account: &Account, addr: SocketAddr, table: &str) -> Self {
        let key = entity::key('p', 0);
        let target = format!("/{table}()?$filter=PartitionKey%20eq%20'{key}'");
        Self::new(account, addr, "GET", &target, "", "\r\n")
    }

    /// The insert of one entity.
    pub(super) fn insert(account: &Account, addr: SocketAddr, table: &str) -> Self {
        let body = entity::body(&entity::key('p', 0), &entity::key('r', 0), 1);
        let rest = format!(
            "Prefer: return-no-content\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let target = format!("/{table}");
        Self::new(account, addr, "POST", &target, "application/json", &rest)
    }

    /// An entity group transaction of 100 inserts.
    pub(super) fn batch(account: &Account, addr: SocketAddr, table: &str) -> Self {
        let mut batch = Batch::new(account, addr);
        for salt in 0..BATCH_OPERATIONS {
            let body = entity::body(&entity::key('p', 0), &entity::key('r', 0), salt);
            batch.push_insert(table, &body);
        }
        let body = batch.finish();
        let rest = format!("Content-Length: {}\r\n\r\n{body}", body.len());
        Self::new(account, addr, "POST", "/$batch", batch::CONTENT_TYPE, &rest)
    }

    /// A request, with the positions of the parts to patch. `rest` is the rest of the head, the blank line and the
    /// body.
    fn new(
        account: &Account,
        addr: SocketAddr,
        method: &'static str,
        target: &str,
        content_type: &'static str,
        rest: &str,
    ) -> Self {
        let target = format!("/{}{target}", account.name());
        let text = head(account, addr, method, &target, content_type) + rest;
        let places = |key: &str| text.match_indices(key).map(|(at, _)| at).collect();
        let after = |name: &str| -> usize {
            text.find(name).expect("the head has this header") + name.len()
        };
        let path = target.split('?').next().unwrap_or_default();
        let mut template = Self {
            date_at: after("x-ms-date: "),
            signature_at: after(&format!("SharedKey {}:", account.name())),
            partition_keys_at: places(&entity::key('p', 0)),
            row_keys_at: places(&entity::key('r', 0)),
            account: account.clone(),
            method,
            content_type,
            path: path.to_owned(),
            bytes: text.into_bytes(),
        };
        template.sign();
        template
    }

    /// Overwrites date and signature with current ones.
    pub(super) fn sign(&mut self) {
        let date = rfc1123_now();
        let signature = self
            .account
            .sign(self.method, self.content_type, &date, &self.path);
        overwrite(&mut self.bytes, self.date_at, &date);
        overwrite(&mut self.bytes, self.signature_at, &signature);
    }

    /// Copies this request to `slot`, or only its date and signature when the slot has an older copy: copying 140 KB
    /// for each batch would cost as much as sending it.
    pub(super) fn copy_to(&self, slot: &mut Vec<u8>) {
        if slot.len() != self.bytes.len() {
            slot.clear();
            slot.extend_from_slice(&self.bytes);
            return;
        }
        for (at, len) in [(self.date_at, DATE_LEN), (self.signature_at, SIGNATURE_LEN)] {
            let fresh = self.bytes.get(at..at + len).expect("found within the text");
            slot.get_mut(at..at + len)
                .expect("the slot is a copy of the template")
                .copy_from_slice(fresh);
        }
    }

    /// Puts keys into a slot: one partition key for all rows, and a separate row key for each row.
    pub(super) fn patch_keys(
        &self,
        slot: &mut [u8],
        partition_key: &str,
        row_key: impl Fn(u64) -> String,
    ) {
        debug_assert_eq!(partition_key.len(), KEY_LEN);
        for &at in &self.partition_keys_at {
            overwrite(slot, at, partition_key);
        }
        for (&at, index) in self.row_keys_at.iter().zip(0..) {
            overwrite(slot, at, &row_key(index));
        }
    }
}

fn overwrite(bytes: &mut [u8], at: usize, text: &str) {
    bytes
        .get_mut(at..at + text.len())
        .expect("the place was found in a text of this length")
        .copy_from_slice(text.as_bytes());
}

/// A signed GET, complete.
pub(super) fn get_request(
    account: &Account,
    addr: SocketAddr,
    path: &str,
    date: &str,
    signature: &str,
) -> String {
    let text = head(account, addr, "GET", path, "") + "\r\n";
    text.replacen(&placeholder(DATE_LEN), date, 1).replacen(
        &placeholder(SIGNATURE_LEN),
        signature,
        1,
    )
}

/// The head without its blank line, with placeholders for date and signature. It equals the head of the official
/// clients, without their long user agent.
fn head(
    account: &Account,
    addr: SocketAddr,
    method: &str,
    target: &str,
    content_type: &str,
) -> String {
    let mut text = format!(
        "{method} {target} HTTP/1.1\r\nHost: {addr}\r\nx-ms-date: {}\r\nx-ms-version: 2019-02-02\r\n\
         DataServiceVersion: 3.0\r\nAccept: application/json;odata=minimalmetadata\r\n\
         User-Agent: partita-bench\r\nAuthorization: SharedKey {}:{}\r\n",
        placeholder(DATE_LEN),
        account.name(),
        placeholder(SIGNATURE_LEN),
    );
    if !content_type.is_empty() {
        text += &format!("Content-Type: {content_type}\r\n");
    }
    text
}

fn placeholder(len: usize) -> String {
    "?".repeat(len)
}
