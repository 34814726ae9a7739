//! A whole request whose date, signature and keys are patched in place.
//!
//! It works because all of them have a fixed length, and because the signature of these requests covers neither the
//! body nor the query ("Authorize with Shared Key").

use std::net::SocketAddr;

use crate::account::SIGNATURE_LEN;
use crate::clock::DATE_LEN;
use crate::entity::KEY_LEN;
use crate::{Account, entity, rfc1123_now};

/// Boundary of the batch and of its change set. Fixed: clients make a fresh one each time, but no server can know.
const BATCH: &str = "batch_3c2f4f6e-5d0f-4f6f-9df1-8f1c2b7a9e01";
const CHANGE_SET: &str = "changeset_9b1d6d3a-0c3e-4c59-8a55-6a4e7c0b2d02";

/// Operations of one batch.
const BATCH_OPERATIONS: u64 = 100;

/// A prepared request.
#[derive(Clone, Debug)]
pub(super) struct Template {
    bytes: Vec<u8>,
    account: Account,
    method: &'static str,
    content_type: String,
    path: String,
    date_at: usize,
    signature_at: usize,
    /// Where the partition keys stand.
    partition_keys_at: Vec<usize>,
    /// Where the row keys stand.
    row_keys_at: Vec<usize>,
}

impl Template {
    /// The query of one whole partition.
    pub(super) fn page(account: &Account, addr: SocketAddr) -> Self {
        let path = format!(
            "/{}/{}()",
            account.name(),
            super::WorkloadKind::Page.table()
        );
        let key = entity::key('p', 0);
        let target = format!("{path}?$filter=PartitionKey%20eq%20'{key}'");
        let text = head(account, addr, "GET", &target, "") + "\r\n";
        Self::find(account, "GET", "", path, text, &key, "")
    }

    /// The insert of one entity.
    pub(super) fn insert(account: &Account, addr: SocketAddr, table: &str) -> Self {
        let path = format!("/{}/{table}", account.name());
        let (partition_key, row_key) = (entity::key('p', 0), entity::key('r', 0));
        let body = entity::body(&partition_key, &row_key, 1);
        let text = head(account, addr, "POST", &path, "application/json")
            + &format!(
                "Prefer: return-no-content\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            );
        Self::find(
            account,
            "POST",
            "application/json",
            path,
            text,
            &partition_key,
            &row_key,
        )
    }

    /// An entity group transaction of 100 inserts.
    pub(super) fn batch(account: &Account, addr: SocketAddr, table: &str) -> Self {
        let path = format!("/{}/$batch", account.name());
        let (partition_key, row_key) = (entity::key('p', 0), entity::key('r', 0));
        let mut body =
            format!("--{BATCH}\r\nContent-Type: multipart/mixed; boundary={CHANGE_SET}\r\n\r\n");
        for salt in 0..BATCH_OPERATIONS {
            let entity = entity::body(&partition_key, &row_key, salt);
            body += &format!(
                "--{CHANGE_SET}\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n\
                 POST http://{addr}/{}/{table} HTTP/1.1\r\nContent-Type: application/json\r\n\
                 Accept: application/json;odata=minimalmetadata\r\nDataServiceVersion: 3.0\r\n\
                 Prefer: return-no-content\r\nContent-Length: {}\r\n\r\n{entity}\r\n",
                account.name(),
                entity.len(),
            );
        }
        body += &format!("--{CHANGE_SET}--\r\n\r\n--{BATCH}--\r\n");
        let content_type = format!("multipart/mixed; boundary={BATCH}");
        let text = head(account, addr, "POST", &path, &content_type)
            + &format!("Content-Length: {}\r\n\r\n{body}", body.len());
        Self::find(
            account,
            "POST",
            &content_type,
            path,
            text,
            &partition_key,
            &row_key,
        )
    }

    /// A template from the whole text, finding what is to be patched.
    fn find(
        account: &Account,
        method: &'static str,
        content_type: &str,
        path: String,
        text: String,
        partition_key: &str,
        row_key: &str,
    ) -> Self {
        let places = |needle: &str| -> Vec<usize> {
            if needle.is_empty() {
                return Vec::new();
            }
            text.match_indices(needle).map(|(at, _)| at).collect()
        };
        let after = |name: &str| -> usize {
            text.find(name).expect("the head has this header") + name.len()
        };
        let mut template = Self {
            date_at: after("x-ms-date: "),
            signature_at: after(&format!("SharedKey {}:", account.name())),
            partition_keys_at: places(partition_key),
            row_keys_at: places(row_key),
            bytes: text.clone().into_bytes(),
            account: account.clone(),
            method,
            content_type: content_type.to_owned(),
            path,
        };
        template.sign();
        template
    }

    /// Puts the present date and its signature in.
    pub(super) fn sign(&mut self) {
        let date = rfc1123_now();
        let signature = self
            .account
            .sign(self.method, &self.content_type, &date, &self.path);
        overwrite(&mut self.bytes, self.date_at, &date);
        overwrite(&mut self.bytes, self.signature_at, &signature);
    }

    /// Makes `slot` hold this request. A slot that holds an older copy only gets date and signature anew: copying
    /// 140 KB for each batch would cost as much as sending it.
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

    /// Puts keys into a slot: one partition key everywhere, and for each row its own.
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

/// The head without its blank line, with placeholders for date and signature: what the official clients send, less
/// the long user agent.
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
