//! The five fixed workloads and their requests.
//!
//! Requests are prepared: a write is a template whose date, signature and keys are patched in place, a point get is one
//! of 100,000 requests signed beforehand. So the driver's cost per request stays near zero for requests of any size.

mod kind;
mod template;

use std::net::SocketAddr;
use std::sync::Arc;

pub use kind::WorkloadKind;
use partita_load::{Random, mix};
use template::Template;

use crate::{Account, entity};

/// Partitions that the insert and batch workloads spread over.
pub(crate) const WRITE_PARTITIONS: u64 = 1_000;

/// A source of requests for one driver thread. Cloning gives the same source; give each thread its own by
/// [`Workload::for_thread`].
#[derive(Clone, Debug)]
pub struct Workload {
    kind: WorkloadKind,
    addr: SocketAddr,
    random: Random,
    /// The number of the next row to write; numbers never repeat on one target.
    next_row: u64,
    template: Template,
    gets: Arc<SignedGets>,
}

/// The point gets, signed beforehand, all of one length.
#[derive(Debug, Default)]
struct SignedGets {
    bytes: Vec<u8>,
    request_bytes: usize,
}

impl Workload {
    /// A source for `kind` against the server at `addr`. `run` numbers the runs against one target (below 2^16), so
    /// that no two write the same row.
    pub fn new(kind: WorkloadKind, account: &Account, addr: SocketAddr, run: u64) -> Self {
        let template = match kind {
            WorkloadKind::PointGet | WorkloadKind::Page => Template::page(account, addr),
            WorkloadKind::InsertMany | WorkloadKind::InsertOne => {
                Template::insert(account, addr, kind.table())
            }
            WorkloadKind::Batch => Template::batch(account, addr, kind.table()),
        };
        let gets = match kind {
            WorkloadKind::PointGet => SignedGets::sign(account, addr),
            _ => SignedGets::default(),
        };
        Self {
            kind,
            addr,
            random: Random::new(run),
            next_row: run << 40,
            template,
            gets: Arc::new(gets),
        }
    }

    /// The source for one of up to 256 threads of the same run.
    pub(crate) fn for_thread(&self, thread: u64) -> Self {
        let mut source = self.clone();
        source.random = Random::new(mix(self.next_row) ^ thread);
        source.next_row |= thread << 32;
        source
    }

    /// The server that gets the requests.
    pub(crate) fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Which workload it is.
    pub(crate) fn kind(&self) -> WorkloadKind {
        self.kind
    }

    /// Signs the template again; call it about once a second, so that no server can profit from one fixed signature.
    pub(crate) fn refresh(&mut self) {
        self.template.sign();
    }

    /// Puts the next request into `slot`, the buffer of one connection, which still holds the connection's previous
    /// request.
    pub(crate) fn fill(&mut self, slot: &mut Vec<u8>) {
        match self.kind {
            WorkloadKind::PointGet => {
                let row = self.random.below(entity::PREPARED_ROWS) as usize;
                slot.clear();
                slot.extend_from_slice(self.gets.request(row));
            }
            WorkloadKind::Page => {
                let partition = self
                    .random
                    .below(entity::PREPARED_ROWS / entity::PARTITION_ROWS);
                self.template.copy_to(slot);
                self.template
                    .patch_keys(slot, &entity::key('p', partition), |_| String::new());
            }
            WorkloadKind::InsertMany | WorkloadKind::Batch => {
                let partition = self.random.below(WRITE_PARTITIONS);
                self.fill_write(slot, partition);
            }
            WorkloadKind::InsertOne => self.fill_write(slot, 0),
        }
    }

    fn fill_write(&mut self, slot: &mut Vec<u8>, partition: u64) {
        let first = self.next_row;
        self.next_row += self.kind.entities();
        self.template.copy_to(slot);
        self.template
            .patch_keys(slot, &entity::key('p', partition), |index| {
                // Scrambled, so that keys arrive in random order, like GUIDs. The scrambling is a bijection of 60 bits
                // and a key holds 60 bits, so rows stay distinct.
                entity::key('r', scramble(first + index))
            });
    }
}

/// A bijection of 60-bit numbers: an odd multiplication and a fold, each of which can be undone.
fn scramble(value: u64) -> u64 {
    const MASK: u64 = (1 << 60) - 1;
    let spread = value.wrapping_mul(0x9e37_79b9_7f4a_7c15) & MASK;
    spread ^ (spread >> 31)
}

impl SignedGets {
    fn sign(account: &Account, addr: SocketAddr) -> Self {
        let date = crate::rfc1123_now();
        let mut gets = Self::default();
        for row in 0..entity::PREPARED_ROWS {
            let (partition_key, row_key) = entity::prepared_keys(row);
            let path = format!(
                "/{}/{}(PartitionKey='{partition_key}',RowKey='{row_key}')",
                account.name(),
                WorkloadKind::PointGet.table(),
            );
            let signature = account.sign("GET", "", &date, &path);
            let request = template::get_request(account, addr, &path, &date, &signature);
            gets.bytes.extend_from_slice(request.as_bytes());
            gets.request_bytes = request.len();
        }
        gets
    }

    fn request(&self, row: usize) -> &[u8] {
        let start = row * self.request_bytes;
        self.bytes
            .get(start..start + self.request_bytes)
            .expect("a row below the prepared count has a request")
    }
}

#[cfg(test)]
mod tests;
