//! The fixed workloads and their requests.
//!
//! Requests are prepared: a write is a template whose date, signature and keys are patched in place, a point get is one
//! of 100,000 requests signed beforehand. So the driver's cost per request stays near zero for requests of any size. Only
//! the gets of a data set, which has too many rows, are signed one by one.

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
    /// The rows of the table that is read.
    rows: u64,
    template: Template,
    gets: Arc<SignedGets>,
    signer: GetSigner,
}

/// Signs point gets one by one.
#[derive(Clone, Debug)]
struct GetSigner {
    account: Account,
    addr: SocketAddr,
    date: String,
}

impl GetSigner {
    fn new(account: &Account, addr: SocketAddr) -> Self {
        Self {
            account: account.clone(),
            addr,
            date: crate::rfc1123_now(),
        }
    }

    /// Gives later requests the current date.
    fn refresh(&mut self) {
        self.date = crate::rfc1123_now();
    }

    /// A get of an entity, signed.
    fn get(&self, table: &str, partition_key: &str, row_key: &str) -> String {
        let (account, date) = (&self.account, &self.date);
        let path = format!(
            "/{}/{table}(PartitionKey='{partition_key}',RowKey='{row_key}')",
            account.name()
        );
        let signature = account.sign("GET", "", date, &path);
        template::get_request(account, self.addr, &path, date, &signature)
    }
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
            WorkloadKind::InsertMany | WorkloadKind::InsertOne => {
                Template::insert(account, addr, kind.table())
            }
            _ if kind.writes() => Template::batch(account, addr, kind.table()),
            _ => Template::page(account, addr, kind.table()),
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
            rows: entity::PREPARED_ROWS,
            template,
            gets: Arc::new(gets),
            signer: GetSigner::new(account, addr),
        }
    }

    /// Reads a table with this number of rows, in whole partitions, instead of the prepared 100,000.
    #[must_use]
    pub(crate) fn over(self, rows: u64) -> Self {
        Self { rows, ..self }
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
        self.signer.refresh();
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
            WorkloadKind::ColdGet | WorkloadKind::AbsentGet => {
                let (partition_key, mut row_key) =
                    entity::prepared_keys(self.random.below(self.rows));
                if self.kind == WorkloadKind::AbsentGet {
                    // Between the keys of two rows.
                    row_key.push('x');
                }
                let request = self.signer.get(self.kind.table(), &partition_key, &row_key);
                slot.clear();
                slot.extend_from_slice(request.as_bytes());
            }
            WorkloadKind::Page
            | WorkloadKind::OrderedPage
            | WorkloadKind::ScatteredPage
            | WorkloadKind::WholeScan => {
                let partition = self.random.below(self.rows / entity::PARTITION_ROWS);
                self.template.copy_to(slot);
                self.template
                    .patch_keys(slot, &entity::key('p', partition), |_| String::new());
            }
            WorkloadKind::InsertMany
            | WorkloadKind::Batch
            | WorkloadKind::RestartBatch
            | WorkloadKind::SustainedBatch => {
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
        let signer = GetSigner::new(account, addr);
        let mut gets = Self::default();
        for row in 0..entity::PREPARED_ROWS {
            let (partition_key, row_key) = entity::prepared_keys(row);
            let table = WorkloadKind::PointGet.table();
            let request = signer.get(table, &partition_key, &row_key);
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
