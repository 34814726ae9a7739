//! One writer: random changes of its own rows over one connection, each answer checked against the model at once.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};

use partita_bench::Account;
use partita_bench::batch::{self, Batch};
use partita_bench::client::{Client, Request, Response};
use partita_load::Random;

use super::TABLE;
use super::model::{EntityChange, Key, Ledger, WriteId, next_write_id, payload};
use super::race::Races;
use super::stored;

/// Partitions of one writer.
const PARTITIONS: u64 = 2;

/// Keys in each partition.
const KEYS: u64 = 40;

/// Operations of the largest batch.
const BATCH_MAX: u64 = 20;

/// A well-formed ETag that no row has.
const STALE_ETAG: &str = "W/\"datetime'2001-01-01T00%3A00%3A00Z'\"";

/// A writer and its model, which outlive the server's processes.
#[derive(Debug)]
pub(crate) struct Writer {
    pub(crate) ledger: Ledger,
    random: Random,
    /// Faults of the server's answers.
    pub(crate) faults: Vec<String>,
    /// Writes acknowledged.
    pub(crate) acknowledged: u64,
    /// Whether the disk fails, so that a write may have an unknown outcome. The writer stops after such a write, which
    /// stays in doubt until the rows are compared.
    pub(crate) disk_fails: bool,
    is_in_doubt: bool,
}

/// One operation about to be sent.
struct Step {
    key: Key,
    change: EntityChange,
    id: WriteId,
    /// The ETag sent, for changes that need one.
    if_match: Option<String>,
}

impl Writer {
    pub(crate) fn new(index: u64, seed: u64) -> Self {
        let keys = (0..PARTITIONS * KEYS).map(|number| Key {
            partition: format!("w{index:02}-{}", number % PARTITIONS),
            row: format!("r{:03}", number / PARTITIONS),
        });
        Self {
            ledger: Ledger {
                keys: keys.collect(),
                ..Ledger::default()
            },
            random: Random::new(seed),
            faults: Vec::new(),
            acknowledged: 0,
            disk_fails: false,
            is_in_doubt: false,
        }
    }

    /// Writes until the connection breaks, a fault is found, or `stop` is set.
    pub(crate) fn run(
        &mut self,
        addr: SocketAddr,
        account: &Account,
        races: &Races,
        stop: &AtomicBool,
    ) {
        let Ok(mut client) = Client::connect(addr, account.clone()) else {
            return;
        };
        self.is_in_doubt = false;
        while self.faults.is_empty() && !self.is_in_doubt && !stop.load(Ordering::Relaxed) {
            let outcome = match self.random.below(100) {
                0..15 => races.play(&mut client, self.disk_fails),
                15..40 => self.batch(&mut client, addr, account),
                _ => self.single(&mut client),
            };
            match outcome {
                Ok(Some(fault)) => self.faults.push(fault),
                Ok(None) => {}
                // The server was killed; the request under way is in doubt.
                Err(_) => return,
            }
        }
    }

    fn single(&mut self, client: &mut Client) -> anyhow::Result<Option<String>> {
        let index = self.random.below(PARTITIONS * KEYS);
        let step = self.step(index);
        let expected = self.expect(&[&step]);
        let body = step.body();
        let (method, path) = step.line();
        let content_type = match step.change {
            EntityChange::Delete => "",
            _ => "application/json",
        };
        let answer = client.send(&Request {
            headers: &step.headers(),
            content_type,
            body: body.as_bytes(),
            ..Request::new(method, &path)
        })?;
        let etag = answer.header("etag").map(str::to_owned);
        let what = format!("{:?} of {:?}", step.change, step.key);
        Ok(self.judge(expected, answer.status, vec![etag], &what, &answer.text()))
    }

    fn batch(
        &mut self,
        client: &mut Client,
        addr: SocketAddr,
        account: &Account,
    ) -> anyhow::Result<Option<String>> {
        let partition = self.random.below(PARTITIONS);
        let first = self.random.below(KEYS);
        let count = 2 + self.random.below(BATCH_MAX - 1);
        // Neighbouring rows, each once: a batch may name an entity only once.
        let steps: Vec<Step> = (0..count)
            .map(|offset| self.step((first + offset) % KEYS * PARTITIONS + partition))
            .collect();
        let expected = self.expect(&steps.iter().collect::<Vec<_>>());
        let mut batch = Batch::new(account, addr);
        for step in &steps {
            let (method, path) = step.line();
            batch.push(method, &path, &step.headers(), &step.body());
        }
        let answer = client.send(&Request {
            content_type: batch::CONTENT_TYPE,
            body: batch.finish().as_bytes(),
            ..Request::new("POST", "/$batch")
        })?;
        let first = steps.first().map(|step| &step.key);
        let what = format!("batch of {count} from {first:?}");
        Ok(self.judge_batch(expected, &answer, steps.len(), &what))
    }

    fn judge_batch(
        &mut self,
        expected: Result<(), u16>,
        answer: &Response,
        count: usize,
        what: &str,
    ) -> Option<String> {
        let Ok(parts) = batch::parts(answer) else {
            return self.judge(expected, answer.status, Vec::new(), what, &answer.text());
        };
        let failed = parts.iter().find(|part| part.status >= 300);
        match failed {
            Some(part) => self.judge(expected, part.status, Vec::new(), what, &part.text),
            None if parts.len() == count => {
                let etags = parts.into_iter().map(|part| part.etag).collect();
                self.judge(expected, 204, etags, what, "")
            }
            None => Some(format!("{what}: {} parts in the answer", parts.len())),
        }
    }

    /// A random change of one of the keys, mostly with a valid condition.
    fn step(&mut self, index: u64) -> Step {
        let keys = &self.ledger.keys;
        let key = keys[index as usize % keys.len()].clone();
        let row = self.ledger.rows.get(&key);
        let change = match (self.random.below(100), row.is_some()) {
            (0..3, _) => EntityChange::Insert,
            (_, false) if self.random.chance(96) => match self.random.below(4) {
                0 => EntityChange::UpsertMerge,
                1 => EntityChange::UpsertReplace,
                _ => EntityChange::Insert,
            },
            (3..30, _) => EntityChange::Replace,
            (30..60, _) => EntityChange::Merge,
            (60..75, _) => EntityChange::UpsertReplace,
            (75..85, _) => EntityChange::UpsertMerge,
            _ => EntityChange::Delete,
        };
        let needs_tag = matches!(
            change,
            EntityChange::Replace | EntityChange::Merge | EntityChange::Delete
        );
        let stale = self.random.chance(4);
        let if_match = needs_tag.then(|| match row.and_then(|row| row.etag.clone()) {
            Some(etag) if !stale => etag,
            _ => STALE_ETAG.to_owned(),
        });
        Step {
            key,
            change,
            id: next_write_id(),
            if_match,
        }
    }

    /// The answer that the model expects to these operations. Marks their resulting rows as in doubt.
    fn expect(&mut self, steps: &[&Step]) -> Result<(), u16> {
        let after = steps.iter().map(|step| {
            let is_matching = step.if_match.as_deref() != Some(STALE_ETAG);
            let row = self.ledger.rows.get(&step.key);
            let row = step.change.apply(row, step.id, is_matching)?;
            Ok((step.key.clone(), row))
        });
        self.ledger.doubt = Some(after.collect::<Result<_, u16>>()?);
        Ok(())
    }

    /// Compares the answer with the model and takes over acknowledged rows.
    fn judge(
        &mut self,
        expected: Result<(), u16>,
        status: u16,
        etags: Vec<Option<String>>,
        what: &str,
        text: &str,
    ) -> Option<String> {
        match (expected, status) {
            (Ok(()), 201 | 204) => {
                self.acknowledged += 1;
                self.ledger.acknowledge(etags).err()
            }
            // 503 means "not executed".
            (_, 503) => {
                self.ledger.doubt = None;
                None
            }
            (_, 500) if self.disk_fails && stored::is_documented(text) => {
                self.is_in_doubt = true;
                None
            }
            (Err(refusal), status) if refusal == status => None,
            (expected, status) => Some(format!(
                "{what}: expected {expected:?}, got {status}: {text}"
            )),
        }
    }
}

impl Step {
    fn line(&self) -> (&'static str, String) {
        match self.change {
            EntityChange::Insert => ("POST", format!("/{TABLE}")),
            EntityChange::Replace | EntityChange::UpsertReplace => ("PUT", self.key.path()),
            EntityChange::Merge => ("MERGE", self.key.path()),
            EntityChange::UpsertMerge => ("PATCH", self.key.path()),
            EntityChange::Delete => ("DELETE", self.key.path()),
        }
    }

    fn headers(&self) -> Vec<(&'static str, &str)> {
        let if_match = self.if_match.iter();
        let if_match = if_match.map(|etag| ("If-Match", etag.as_str()));
        let is_insert = self.change == EntityChange::Insert;
        let prefer = is_insert.then_some(("Prefer", "return-no-content"));
        if_match.chain(prefer).collect()
    }

    fn body(&self) -> String {
        let property = match self.change {
            EntityChange::Delete => return String::new(),
            EntityChange::Merge | EntityChange::UpsertMerge => "B",
            EntityChange::Insert | EntityChange::Replace | EntityChange::UpsertReplace => "A",
        };
        super::entity_json(&self.key, property, &payload(self.id))
    }
}
